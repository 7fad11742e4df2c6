import BelfryCore
import BelfryStore
import BelfryTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import BelfryAPI

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

    @Test func `in memory`() async throws { try await play(on: MemoryStore(clock: HandClock())) }

    @Test func `in SQLite`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-numbers-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try SQLiteStore.open(
            at: directory.appendingPathComponent("belfry.sqlite").path, clock: HandClock(),
            logger: Logger(label: "test"), migrate: true)
        try await play(on: store)
        try await store.close()
    }

    private func play(on store: any Store) async throws {
        let stand = try await Stand(store)
        for number in Self.numbers { try await stand.send(PCFNumbers.requests(number, stand), number) }
        for number in Self.numbers { try await stand.send(AdminNumbers.requests(number, stand), number) }
        for time in Self.times { try await stand.send(AdminNumbers.requests(atTime: time, stand), time) }
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

    fileprivate struct Stand {
        let application: BelfryCore.Application
        let platform: Platform
        let device: Device
        let receipt: UUID
        let location: Int64
        let admin: String
        let routes: [Admin.Route]
        private let app: Hummingbird.Application<RouterResponder<APIContext>>

        var backEnd: String {
            BelfryAPITests.Stand.User.basic(application.uuid.uuidString, BelfryAPITests.Stand.apiKey)
        }
        var phone: String { BelfryAPITests.Stand.User.basic(platform.uuid.uuidString, BelfryAPITests.Stand.secret) }

        init(_ store: any Store) async throws {
            let clock = HandClock()
            let vault = GlassVault()
            let credentials = GlassCredentials(vault: vault)
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
            let service = AdminService(
                store: store, vault: vault, credentials: credentials, hash: SecretHash.of, clock: clock)
            admin =
                "Bearer "
                + (try await service.createKey(
                    name: try Name("root"), scope: .operator, bounds: .everything, by: AdminStand.author
                ).text.text)
            let router = FrontDoor.router(clock: clock)
            PCFRoutes(store: store, vault: vault, clock: clock) {
                let part = PCFv1.Health.Part(isHealthy: true, message: "")
                return PCFv1.Health(database: part, queue: part, scheduler: part)
            }.add(to: router)
            let adminRoutes = AdminRoutes(store: store, vault: vault, clock: clock, credentials: credentials)
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
    static func requests(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        queries(number, stand) + paths(number, stand) + bodies(number, stand) + phones(number, stand)
    }

    private static func queries(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let lists = [
            "/v2/registrations", "/v2/topics", "/v2/custom_user_ids", "/v1/locations", "/v1/location_groups",
            "/v1/geofence",
        ]
        return lists.flatMap { list in
            [
                "size=\(number)", "page=\(number)", "size=\(number)&page=\(number)", "size=50&page=\(number)",
                "timestamp=\(number)",
            ]
            .map { Ask(.get, "\(list)?\($0)", stand.backEnd) }
        } + [
            Ask(.get, "/v2/registrations?topic=news&page=\(number)", stand.backEnd),
            Ask(.get, "/v2/registrations?q=kim&page=\(number)", stand.backEnd),
        ]
    }

    private static func paths(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let bits = Int64(number).map { UInt64(bitPattern: $0) } ?? .max
        let hex = String(repeating: "0", count: 16 - String(bits, radix: 16).count) + String(bits, radix: 16)
        return ["/v1/locations", "/v1/location_groups", "/v1/geofence"].flatMap { path in
            [
                Ask(.get, "\(path)/\(number)", stand.backEnd), Ask(.put, "\(path)/\(number)", stand.backEnd, "{}"),
                Ask(.delete, "\(path)/\(number)", stand.backEnd),
            ]
        } + [
            Ask(.delete, "/v2/topics/\(number)", stand.backEnd), Ask(.get, "/v1/schedules/\(hex)", stand.backEnd),
            Ask(.put, "/v1/schedules/\(hex)", stand.backEnd, "{}"), Ask(.delete, "/v1/schedules/\(hex)", stand.backEnd),
        ]
    }

    private static func bodies(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        func push(_ more: String) -> Ask {
            Ask(.post, "/v1/push", stand.backEnd, #"{"message":{"body":"x"},"target":{"platform":"all"},\#(more)}"#)
        }
        func geofence(_ more: String, location: String = "\(stand.location)") -> Ask {
            Ask(
                .post, "/v1/geofence", stand.backEnd,
                #"{"locations":[\#(location)],"trigger_type":"enter","data":{"ios":{"alertBody":"x"}},\#(more)}"#)
        }
        return ["scheduleAt", "scheduleIn", "expiryTime"].map { push(#""\#($0)":\#(number)"#) } + [
            push(#""scheduleAt":\#(number),"expiryTime":\#(number)"#),
            Ask(
                .post, "/v1/push", stand.backEnd,
                #"{"message":{"custom":{"ios":{"badge":\#(number),"extra":{"n":\#(number)}}}},"target":{"platform":"all"}}"#
            ),
            Ask(.post, "/v2/topics", stand.backEnd, #"{"name":"a\#(number)","expireAt":\#(number)}"#),
            Ask(.post, "/v2/topics", stand.backEnd, #"{"name":"b\#(number)","timeToLive":\#(number)}"#),
            Ask(.post, "/v2/topics/batch", stand.backEnd, #"{"topics":[{"name":"c","timeToLive":\#(number)}]}"#),
            Ask(.delete, "/v2/topics/batch", stand.backEnd, #"{"topicIds":[\#(number),\#(number)]}"#),
            Ask(
                .post, "/v1/locations", stand.backEnd,
                #"{"name":"a","lat":\#(number),"long":\#(number),"rad":\#(number)}"#),
            Ask(.post, "/v1/locations", stand.backEnd, #"{"name":"a","lat":"1","long":"2","rad":\#(number)}"#),
            Ask(.post, "/v1/location_groups", stand.backEnd, #"{"name":"a","location_ids":[\#(number)]}"#),
            geofence(#""start_time":\#(number),"expiry_time":\#(number)"#),
            geofence(#""start_time":0,"expiry_time":\#(number)"#),
            geofence(#""expiry_time":4102444800000,"start_time":\#(number)"#),
            geofence(#""expiry_time":4102444800000"#, location: number),
        ]
    }

    private static func phones(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let device = stand.device.uuid.lowercased
        return [
            Ask(.get, "/v1/geofences?timestamp=\(number)&platform=ios", stand.phone),
            Ask(
                .post, "/v1/registration", stand.phone,
                #"{"registration_token":"AB","os_version":"\#(number).\#(number)"}"#),
        ]
            + [number, "\"\(number)\""].map { written in
                Ask(
                    .post, "/v1/analytics", stand.phone,
                    #"{"events":[{"eventType":"pcf_push_event_type_geofence_location_triggered","eventTime":\#(written),"#
                        + #""deviceUuid":"\#(device)","geofenceId":\#(written),"locationId":\#(written)},"#
                        + #"{"eventType":"pcf_push_event_type_heartbeat","eventTime":\#(written),"#
                        + #""deviceUuid":"\#(device)","receiptId":"\#(stand.receipt.lowercased)"}]}"#)
            }
    }
}

private enum AdminNumbers {
    static func requests(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let bits = Int64(number).map { UInt64(bitPattern: $0) } ?? .max
        let hex = String(repeating: "0", count: 16 - String(bits, radix: 16).count) + String(bits, radix: 16)
        let reads = stand.routes.filter { $0.method == .get }.flatMap { route in
            (1...4).map { "cursor=" + String(repeating: hex, count: $0) }.map { "?limit=1&\($0)" }
                .appending("?limit=\(number)").map { Ask(.get, stand.fill(route.path) + $0, stand.admin) }
                + [Ask(.get, stand.fill(route.path, number: number), stand.admin)]
        }
        return reads + [
            Ask(.get, "/admin/v1/apps/\(stand.application.uuid.lowercased)/schedules/\(hex)", stand.admin),
            Ask(.delete, "/admin/v1/apps/\(stand.application.uuid.lowercased)/schedules/\(hex)", stand.admin),
        ] + bodies(number, stand)
    }

    static func requests(atTime time: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let escaped = time.replacing("+", with: "%2B")
        let app = "/admin/v1/apps/\(stand.application.uuid.lowercased)"
        let analytics = "/admin/v1/platforms/\(stand.platform.uuid.lowercased)/analytics"
        return ["from=\(escaped)", "until=\(escaped)", "from=\(escaped)&until=\(escaped)", "until=\(escaped)&by=day"]
            .flatMap {
                [Ask(.get, "\(analytics)?\($0)", stand.admin), Ask(.get, "/admin/v1/audit?\($0)", stand.admin)]
            } + [
                Ask(.post, "\(app)/topics", stand.admin, #"{"name":"t","expires_at":"\#(time)"}"#),
                Ask(
                    .post, "\(app)/pushes", stand.admin,
                    #"{"message":{"body":"x"},"target":{"everyone":true},"send_at":"\#(time)","expires_at":"\#(time)"}"#
                ),
                Ask(
                    .post, "\(app)/geofences", stand.admin,
                    #"{"location_ids":[\#(stand.location)],"trigger":"enter","starts_at":"\#(time)","expires_at":"\#(time)"}"#
                ),
            ]
    }

    private static func bodies(_ number: String, _ stand: ExtremeNumbersTests.Stand) -> [Ask] {
        let app = "/admin/v1/apps/\(stand.application.uuid.lowercased)"
        return [
            Ask(
                .post, "\(app)/locations", stand.admin,
                #"{"name":"a","latitude":\#(number),"longitude":\#(number),"radius":\#(number)}"#),
            Ask(.patch, "\(app)/locations/\(stand.location)", stand.admin, #"{"radius":\#(number)}"#),
            Ask(.post, "\(app)/location-groups", stand.admin, #"{"name":"a","location_ids":[\#(number)]}"#),
            Ask(
                .post, "\(app)/geofences", stand.admin,
                #"{"location_ids":[\#(number)],"trigger":"enter","expires_at":"2099-01-01T00:00:00Z"}"#),
            Ask(
                .post, "\(app)/pushes", stand.admin,
                #"{"message":{"custom":{"ios":{"badge":\#(number)}}},"target":{"everyone":true}}"#),
            Ask(
                .post, "\(app)/pushes", stand.admin,
                #"{"message":{"apns":{"aps":{"badge":\#(number),"content-state":{"n":\#(number)},"timestamp":\#(number)}}},"#
                    + #""target":{"everyone":true}}"#),
            Ask(.post, "/admin/v1/keys/none/rotate", stand.admin, #"{"grace_seconds":\#(number)}"#),
        ]
    }
}

extension [String] {
    fileprivate func appending(_ element: String) -> [String] { self + [element] }
}
