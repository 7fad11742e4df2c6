import BelfryTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import BelfryService

/// Every number that a caller can write, at the ends of what 64 bits hold and beyond: an answer comes, and it is no fault of
/// the server. A number that traps would end the test's process.
@Suite struct ExtremeNumbersTests {
    private static let numbers = [
        "-9223372036854775809", "-9223372036854775808", "-9223372036854775807", "-9007199254740993", "-2147483649",
        "-1",
        "-0", "0", "1", "2147483648", "4294967296", "9007199254740991", "9007199254740993", "922337203685477580",
        "9223372036854775806", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "10000000000000000000", "99999999999999999999999999", "1e18", "1e19", "-1e19", "1e308", "0.5", "-0.000001",
    ]

    private static let times = [
        "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1582-10-10T00:00:00Z", "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "99999-01-01T00:00:00Z", "292278994-08-17T07:12:55Z", "-9999-01-01T00:00:00Z",
        "2026-13-45T99:99:99Z", "2026-01-01T00:00:00+99:99", "9999999999999-01-01T00:00:00Z",
    ]

    @Test func `no number or time ends the process`() async throws {
        let server = try await TestServer(try SQLiteStore.temporary(clock: ManualClock()))
        for number in Self.numbers { try await server.send(PCFNumbers.requests(number, server), number) }
        for number in Self.numbers { try await server.send(AdminNumbers.requests(number, server), number) }
        for time in Self.times { try await server.send(AdminNumbers.requests(atTime: time, server), time) }
    }

    fileprivate struct Ask {
        let method: HTTPRequest.Method
        let path: String
        let user: String
        let body: String?

        init(_ method: HTTPRequest.Method, _ path: String, _ user: String, _ body: String? = nil) {
            self.method = method
            self.path = path
            self.user = user
            self.body = body
        }
    }

    fileprivate struct TestServer {
        let application: BelfryService.Application
        let platform: Platform
        let device: Device
        let receipt: UUID
        let location: Int64
        let admin: String
        let routes: [Admin.Route]
        private let app: Hummingbird.Application<RouterResponder<APIContext>>

        var backEnd: String {
            BelfryServiceTests.TestServer.User.basic(application.uuid.uuidString, BelfryServiceTests.TestServer.apiKey)
        }
        var phone: String {
            BelfryServiceTests.TestServer.User.basic(platform.uuid.uuidString, BelfryServiceTests.TestServer.secret)
        }

        init(_ store: any Store) async throws {
            let clock = ManualClock()
            let vault = PlaintextVault()
            let credentials = PlaintextCredentials(vault: vault)
            application = try await store.create(.test(vault))
            platform = try await store.create(.test(.ios, of: application))
            device = try await store.register(
                try Registration(
                    token: DeviceToken(bytes: [1]), about: .init(), customUserID: .set("kim"),
                    topics: .replace(["news"])), as: nil, on: platform)
            receipt = UUID()
            _ = try await store.accept(
                NewPush(
                    receiptID: receipt, applicationKey: application.key, content: .init(body: "x"),
                    audience: .list(.active), platformKeys: [platform.key], lane: .normal))
            location = try await store.create(
                try Place(name: "shop", latitude: 1, longitude: 2, radius: 100), of: application.key
            ).key.rawValue
            let services = Services(store, vault: vault, clock: clock, credentials: credentials)
            admin =
                "Bearer "
                + (try await services.admin.createKey(
                    name: try Name("root"), scope: .operator, bounds: .everything, by: TestAdminServer.author
                ).text.text)
            let router = ResponseMiddleware.router(clock: clock)
            PCFRoutes(services) {
                let part = PCF.Health.Part(isHealthy: true, message: "")
                return PCF.Health(database: part, queue: part, scheduler: part)
            }.add(to: router)
            let adminRoutes = AdminRoutes(services)
            adminRoutes.add(to: router)
            routes = adminRoutes.routes
            app = Hummingbird.Application(
                router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        }

        func send(_ asks: [Ask], _ number: String) async throws {
            try await app.test(.router) { client in
                for ask in asks {
                    let response = try await client.execute(
                        uri: ask.path, method: ask.method, headers: [.authorization: ask.user],
                        body: ask.body.map(ByteBuffer.init(string:)))
                    #expect(
                        response.status.code < 500 && ![401, 403, 405].contains(response.status.code),
                        "\(number): \(ask.method) \(ask.path) \(ask.body ?? ""): \(String(buffer: response.body))")
                }
            }
        }

        /// A path of the admin API with what it names, or with a number in the place of everything but the application.
        func fill(_ path: String, number: String? = nil) -> String {
            let known = [
                "app_uuid": application.uuid.lowercased, "platform_uuid": platform.uuid.lowercased,
                "device_uuid": device.uuid.lowercased, "receipt_id": receipt.lowercased, "location_id": "\(location)",
                "topic": "news",
            ]
            return "/admin/v1/"
                + path.split(separator: "/").map { part -> String in
                    guard part.hasPrefix(":") else { return String(part) }
                    let name = String(part.dropFirst())
                    if let number, name != "app_uuid" { return number }
                    return known[name] ?? number ?? "1"
                }.joined(separator: "/")
        }
    }
}

private typealias Ask = ExtremeNumbersTests.Ask

private enum PCFNumbers {
    static func requests(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        queries(number, server) + paths(number, server) + bodies(number, server) + phones(number, server)
    }

    private static func queries(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let lists = [
            "/v2/registrations", "/v2/topics", "/v2/custom_user_ids", "/v1/locations", "/v1/location_groups",
            "/v1/geofence",
        ]
        return lists.flatMap { list in
            [
                "size=\(number)", "page=\(number)", "size=\(number)&page=\(number)", "size=50&page=\(number)",
                "timestamp=\(number)",
            ]
            .map { Ask(.get, "\(list)?\($0)", server.backEnd) }
        } + [
            Ask(.get, "/v2/registrations?topic=news&page=\(number)", server.backEnd),
            Ask(.get, "/v2/registrations?q=kim&page=\(number)", server.backEnd),
        ]
    }

    private static func paths(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let bits = Int64(number).map { UInt64(bitPattern: $0) } ?? .max
        let hex = String(repeating: "0", count: 16 - String(bits, radix: 16).count) + String(bits, radix: 16)
        return ["/v1/locations", "/v1/location_groups", "/v1/geofence"].flatMap { path in
            [
                Ask(.get, "\(path)/\(number)", server.backEnd), Ask(.put, "\(path)/\(number)", server.backEnd, "{}"),
                Ask(.delete, "\(path)/\(number)", server.backEnd),
            ]
        } + [
            Ask(.delete, "/v2/topics/\(number)", server.backEnd), Ask(.get, "/v1/schedules/\(hex)", server.backEnd),
            Ask(.put, "/v1/schedules/\(hex)", server.backEnd, "{}"),
            Ask(.delete, "/v1/schedules/\(hex)", server.backEnd),
        ]
    }

    private static func bodies(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        func push(_ more: String) -> Ask {
            Ask(.post, "/v1/push", server.backEnd, #"{"message":{"body":"x"},"target":{"platform":"all"},\#(more)}"#)
        }
        func geofence(_ more: String, location: String = "\(server.location)") -> Ask {
            Ask(
                .post, "/v1/geofence", server.backEnd,
                #"{"locations":[\#(location)],"trigger_type":"enter","data":{"ios":{"alertBody":"x"}},\#(more)}"#)
        }
        return ["scheduleAt", "scheduleIn", "expiryTime"].map { push(#""\#($0)":\#(number)"#) } + [
            push(#""scheduleAt":\#(number),"expiryTime":\#(number)"#),
            Ask(
                .post, "/v1/push", server.backEnd,
                #"{"message":{"custom":{"ios":{"badge":\#(number),"extra":{"n":\#(number)}}}},"target":{"platform":"all"}}"#
            ),
            Ask(.post, "/v2/topics", server.backEnd, #"{"name":"a\#(number)","expireAt":\#(number)}"#),
            Ask(.post, "/v2/topics", server.backEnd, #"{"name":"b\#(number)","timeToLive":\#(number)}"#),
            Ask(.post, "/v2/topics/batch", server.backEnd, #"{"topics":[{"name":"c","timeToLive":\#(number)}]}"#),
            Ask(.delete, "/v2/topics/batch", server.backEnd, #"{"topicIds":[\#(number),\#(number)]}"#),
            Ask(
                .post, "/v1/locations", server.backEnd,
                #"{"name":"a","lat":\#(number),"long":\#(number),"rad":\#(number)}"#),
            Ask(.post, "/v1/locations", server.backEnd, #"{"name":"a","lat":"1","long":"2","rad":\#(number)}"#),
            Ask(.post, "/v1/location_groups", server.backEnd, #"{"name":"a","location_ids":[\#(number)]}"#),
            geofence(#""start_time":\#(number),"expiry_time":\#(number)"#),
            geofence(#""start_time":0,"expiry_time":\#(number)"#),
            geofence(#""expiry_time":4102444800000,"start_time":\#(number)"#),
            geofence(#""expiry_time":4102444800000"#, location: number),
        ]
    }

    private static func phones(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let device = server.device.uuid.lowercased
        return [
            Ask(.get, "/v1/geofences?timestamp=\(number)&platform=ios", server.phone),
            Ask(
                .post, "/v1/registration", server.phone,
                #"{"registration_token":"AB","os_version":"\#(number).\#(number)"}"#),
        ]
            + [number, "\"\(number)\""].map { written in
                Ask(
                    .post, "/v1/analytics", server.phone,
                    #"{"events":[{"eventType":"pcf_push_event_type_geofence_location_triggered","eventTime":\#(written),"#
                        + #""deviceUuid":"\#(device)","geofenceId":\#(written),"locationId":\#(written)},"#
                        + #"{"eventType":"pcf_push_event_type_heartbeat","eventTime":\#(written),"#
                        + #""deviceUuid":"\#(device)","receiptId":"\#(server.receipt.lowercased)"}]}"#)
            }
    }
}

private enum AdminNumbers {
    static func requests(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let bits = Int64(number).map { UInt64(bitPattern: $0) } ?? .max
        let hex = String(repeating: "0", count: 16 - String(bits, radix: 16).count) + String(bits, radix: 16)
        // Numbers beyond 64 bits have the cursor of -1.
        let cursors = Int64(number) == nil ? [] : (1...4).map { "limit=1&cursor=" + String(repeating: hex, count: $0) }
        let reads = server.routes.filter { $0.method == .get }.flatMap { route in
            (cursors + ["limit=\(number)"]).map { Ask(.get, "\(server.fill(route.path))?\($0)", server.admin) }
                + [Ask(.get, server.fill(route.path, number: number), server.admin)]
        }
        return reads + [
            Ask(.get, "/admin/v1/apps/\(server.application.uuid.lowercased)/schedules/\(hex)", server.admin),
            Ask(.delete, "/admin/v1/apps/\(server.application.uuid.lowercased)/schedules/\(hex)", server.admin),
        ] + bodies(number, server)
    }

    static func requests(atTime time: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let escaped = time.replacing("+", with: "%2B")
        let app = "/admin/v1/apps/\(server.application.uuid.lowercased)"
        let analytics = "/admin/v1/platforms/\(server.platform.uuid.lowercased)/analytics"
        return ["from=\(escaped)", "until=\(escaped)", "from=\(escaped)&until=\(escaped)", "until=\(escaped)&by=day"]
            .flatMap {
                [Ask(.get, "\(analytics)?\($0)", server.admin), Ask(.get, "/admin/v1/audit?\($0)", server.admin)]
            } + [
                Ask(.post, "\(app)/topics", server.admin, #"{"name":"t","expires_at":"\#(time)"}"#),
                Ask(
                    .post, "\(app)/pushes", server.admin,
                    #"{"message":{"body":"x"},"target":{"everyone":true},"send_at":"\#(time)","expires_at":"\#(time)"}"#
                ),
                Ask(
                    .post, "\(app)/geofences", server.admin,
                    #"{"location_ids":[\#(server.location)],"trigger":"enter","starts_at":"\#(time)","expires_at":"\#(time)"}"#
                ),
            ]
    }

    private static func bodies(_ number: String, _ server: ExtremeNumbersTests.TestServer) -> [Ask] {
        let app = "/admin/v1/apps/\(server.application.uuid.lowercased)"
        return [
            Ask(
                .post, "\(app)/locations", server.admin,
                #"{"name":"a","latitude":\#(number),"longitude":\#(number),"radius":\#(number)}"#),
            Ask(.patch, "\(app)/locations/\(server.location)", server.admin, #"{"radius":\#(number)}"#),
            Ask(.post, "\(app)/location-groups", server.admin, #"{"name":"a","location_ids":[\#(number)]}"#),
            Ask(
                .post, "\(app)/geofences", server.admin,
                #"{"location_ids":[\#(number)],"trigger":"enter","expires_at":"2099-01-01T00:00:00Z"}"#),
            Ask(
                .post, "\(app)/pushes", server.admin,
                #"{"message":{"custom":{"ios":{"badge":\#(number)}}},"target":{"everyone":true}}"#),
            Ask(
                .post, "\(app)/pushes", server.admin,
                #"{"message":{"apns":{"aps":{"badge":\#(number),"content-state":{"n":\#(number)},"timestamp":\#(number)}}},"#
                    + #""target":{"everyone":true}}"#),
            Ask(.post, "/admin/v1/keys/none/rotate", server.admin, #"{"grace_seconds":\#(number)}"#),
        ]
    }
}
