import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// The paths of locations, geofences and analytics on a store in memory, with one application that has an iOS and an FCM
/// platform.
struct TestMapServer {
    let clock = ManualClock(at: Instant(milliseconds: 1_400_000_000_000))
    let store: SQLiteStore
    let application: BelfryService.Application
    let ios: BelfryService.Platform
    let fcm: BelfryService.Platform
    private let vault = OpenVault()

    init() async throws {
        store = try SQLiteStore.temporary(clock: clock)
        application = try await store.create(.test(vault))
        ios = try await store.create(.test(.ios, of: application))
        fcm = try await store.create(.test(.androidFCM, of: application))
    }

    func app() -> Hummingbird.Application<RouterResponder<APIContext>> {
        let router = ResponseMiddleware.router(clock: clock)
        let routes = PCFRoutes(Services(store, vault: vault, clock: clock)) {
            let part = PCF.Health.Part(isHealthy: true, message: "")
            return PCF.Health(database: part, queue: part, scheduler: part)
        }
        routes.add(to: router)
        return Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
    }

    enum User { case nobody, backEnd, stranger, iPhone, android }

    func authorization(_ user: User) -> String? {
        switch user {
        case .nobody: nil
        case .backEnd: TestServer.User.basic(application.uuid.uuidString, TestServer.apiKey)
        case .stranger: TestServer.User.basic(UUID().uuidString, TestServer.apiKey)
        case .iPhone: TestServer.User.basic(ios.uuid.uuidString, TestServer.secret)
        case .android: TestServer.User.basic(fcm.uuid.uuidString, TestServer.secret)
        }
    }

    /// Sends one request through the router.
    func send(
        _ method: HTTPRequest.Method, _ path: String, as user: User = .backEnd, _ body: String? = nil
    ) async throws -> TestAnswer {
        try await app().test(.router) { client in
            var headers: HTTPFields = [:]
            if let value = authorization(user) { headers[.authorization] = value }
            let response = try await client.execute(
                uri: path, method: method, headers: headers, body: body.map(ByteBuffer.init(string:)))
            return try TestAnswer(response)
        }
    }

    /// Makes a location and gives its id.
    func locate(_ name: String = "sample") async throws -> Int64 {
        try await send(.post, "/v1/locations", #"{"name":"\#(name)","lat":"0.0","long":"0.0","rad":100}"#).id
    }

    func fence(_ locations: [Int64], _ more: String = "") async throws -> Int64 {
        let body = Self.geofence(locations, more)
        return try await send(.post, "/v1/geofence", as: .backEnd, body).id
    }

    /// The body of a geofence that both kinds of phone can show.
    static func geofence(_ locations: [Int64], _ more: String = "") -> String {
        """
        {"locations":\(locations),"trigger_type":"enter","start_time":0,"expiry_time":1424443201000,"platform":"all",
        "data":{"ios":{"alertBody":"Welcome","applicationBadgeNumber":2},"android":{"message":"Welcome","count":3}}\(more)}
        """
    }

    func send(_ method: HTTPRequest.Method, _ path: String, _ body: String) async throws -> TestAnswer {
        try await send(method, path, as: .backEnd, body)
    }
}

extension TestAnswer {
    /// The `id` of what was made.
    var id: Int64 {
        get throws {
            guard case .integer(let id) = self["id"] else { throw Missing(reply: self) }
            return id
        }
    }

    struct Missing: Error { let reply: TestAnswer }

    /// The elements of a list.
    func list(_ key: String) throws -> [JSONValue] {
        guard case .array(let elements) = self[key] else { throw Missing(reply: self) }
        return elements
    }
}
