import BelfryTesting
import FoundationEssentials
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// The API over a store in memory and real sockets, with a customer of Carma: an account, an app with an iOS and an Android platform,
/// and a trigger.
struct CarmaServer {
    let store: SQLiteStore
    let clock: ManualClock
    let application: BelfryService.Application
    let platforms: [PlatformKind: BelfryService.Platform]
    let trigger: CarmaTrigger
    let port: Int

    static let customerID: Int64 = 42
    static let appID = "se.compost.demo"
    static let user = "anna"
    static let password = "correct horse"
    static let token = "0f0e0d0c0b0a"
    static let now = Instant(milliseconds: 1_500_000_000_000)
    static let devices = "/rest/42/apps/se.compost.demo/pushdevices"

    private static let template = """
        {"name":"Dinner","default_language":"en","languages":{
          "en":{"alert":"Hi {{firstName}}","message":"{{food}} and {{drink}}","html":"<p>{{firstName}}: {{dish}}</p>"},
          "sv":{"alert":"Hej {{firstName}}"}}}
        """

    static func with(_ play: @escaping @Sendable (CarmaServer) async throws -> Void) async throws {
        let clock = ManualClock(at: now)
        let store = try SQLiteStore.temporary(clock: clock)
        let vault = PlaintextVault()
        let application = try await store.create(.test(vault))
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in [PlatformKind.ios, .android] {
            platforms[kind] = try await store.create(.test(kind, of: application))
        }
        _ = try await store.createCarmaAccount(
            customerID: customerID, user: user,
            passwordHash: Array(PlainPasswords.hash(password).utf8),
            tokenHash: SecretHash.of(token))
        let app = try await store.createCarmaApp(customerID: customerID, appID: appID, for: application.key)
        let trigger = try await store.createCarmaTrigger(
            try CarmaTemplate(try JSONValue(json: template.utf8)), of: app)
        let router = RecordedServer.router(store, vault, clock, PCF.Options())
        let server = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        let all = platforms
        try await server.test(.live) { client in
            try await play(
                CarmaServer(
                    store: store, clock: clock, application: application, platforms: all, trigger: trigger,
                    port: try #require(client.port)))
        }
    }

    static var basic: String {
        "Authorization: Basic \(Data("\(user):\(password)".utf8).base64EncodedString())\r\n"
    }

    /// Sends a request as the guide's sample does: Basic without being asked, both types JSON.
    func send(
        _ method: String, _ path: String, _ body: String? = nil, credentials: String = basic
    ) async throws -> RawAnswer {
        let wire = try await Wire.open(port: port)
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        let answer = try await wire.exchange(
            "\(method) \(path) HTTP/1.1\r\nHost: push.example.org\r\n\(credentials)Accept: application/json\r\n"
                + "Content-Type: application/json\r\n\(length)\r\n\(body ?? "")")
        try await wire.close()
        return answer
    }

    /// The contact that a 200 answers with, whose members are exactly those of the guide's struct.
    func contact(
        _ method: String, _ path: String, _ body: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONValue {
        let answer = try await send(method, path, body)
        #expect(answer.status == 200, "\(answer)", sourceLocation: sourceLocation)
        #expect(answer.headers["content-type"]?.hasPrefix("application/json") == true, sourceLocation: sourceLocation)
        let contact = try JSONValue(json: answer.body.utf8)
        guard case .object(let members) = contact, case .array(let devices)? = members["deviceInfo"] else {
            throw StoreError.unknown("struct in \(answer)")
        }
        #expect(Set(members.keys) == Self.members, sourceLocation: sourceLocation)
        for device in devices {
            guard case .object(let members) = device else { throw StoreError.unknown("device in \(answer)") }
            #expect(Set(members.keys) == Self.deviceMembers, sourceLocation: sourceLocation)
        }
        return contact
    }

    /// Source: Carma iOS Integration Guide pA3, the full list of properties.
    private static let members: Set = [
        "listId", "country", "originalId", "firstName", "lastName", "middleName", "emailAddress", "title",
        "dateOfBirth",
        "city", "zipcode", "sex", "mobileNumber", "optOutDate", "dateOfInvalidation", "optOutMobileDate", "active",
        "properties", "deviceInfo",
    ]
    private static let deviceMembers: Set = [
        "devicetoken", "manufacturer", "model", "osVersion", "country", "dateOfInvalidation", "invalidationType",
    ]

    func devices(_ kind: PlatformKind) async throws -> [Device] {
        try await store.allDevices().filter { $0.platformKey == platforms[kind]?.key }
    }
}

/// The tokens of a contact that are valid, and the invalidation of the others.
func fates(_ contact: JSONValue) -> [String: Int64] {
    guard case .array(let devices)? = contact["deviceInfo"] else { return [:] }
    var fates: [String: Int64] = [:]
    for device in devices {
        guard let token = device["devicetoken"]?.stringValue, case .integer(let type)? = device["invalidationType"]
        else { continue }
        fates[token] = type
    }
    return fates
}
