import BelfryServer
import BelfryTesting
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A stand-in of the server that PCF apps come from: as many devices as wanted, topics, locations, a group, geofences and a schedule,
/// behind the documented calls alone, with the keys and secrets that its clients hold.
///
/// Source: PCF Push API 1.6 to 1.9, as `docs/compatibility/pcf.md` has it. It shares no code with what imports from it.
final class OldPCFServer: Sendable {
    struct Device: Sendable, Equatable {
        let uuid: String
        let token: String
        let tags: [String]
        let user: String?
        let alias: String
        let isActive: Bool
    }

    struct Platform: Sendable {
        let uuid: String
        let secret: String
        let os: String
        let count: Int

        /// The devices differ in nothing but their number.
        func device(_ number: Int) -> Device {
            let digits = String(number, radix: 16)
            let tail = String(repeating: "0", count: 12 - digits.count) + digits
            return Device(
                uuid: "4f7b1c1e-9a0f-4a6e-8e\(os == "ios" ? 35 : 36)-\(tail)",
                token: os == "ios" ? String(repeating: "0", count: 64 - digits.count) + digits : "token-\(number)",
                tags: number.isMultiple(of: 3) ? [] : ["tag\(number % 10)", "all"],
                user: number.isMultiple(of: 2) ? "user \(number)" : nil, alias: "Phone \(number)",
                isActive: !number.isMultiple(of: 7))
        }
    }

    static let application = "11111111-2222-4333-8444-555555555555"
    static let apiKey = "0f0f0f0f-1111-4222-8333-444444444444"
    /// The example of the page "Custom user ID format".
    static let sharedSecret = "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C"
    static let lastModified: Int64 = 1_500_000_009_000

    let platforms: [Platform]
    let url: String
    private let channel: any Channel
    private let state: State

    final class State: Sendable {
        let fault = Mutex<Fault>(.none)
        private let faulty = Mutex(Set<String>())

        /// Whether a path has not failed yet, so that what is asked again is answered in the end.
        func isFirstFault(of path: String) -> Bool { faulty.withLock { $0.insert(path).inserted } }

        /// How often it was asked.
        let asked = Mutex(0)
        /// Changes that devices asked for: method, path and body.
        let changes = Mutex<[Change]>([])
    }

    struct Change: Sendable, Equatable {
        let method: String
        let path: String
        let body: String
    }

    enum Fault: Sendable {
        case none
        /// Each request is answered so.
        case status(Int)
        /// Every third request is answered so, no path twice.
        case now(Int)
        case hangs
        /// The first requests are too many.
        case busy(Int)
    }

    var fault: Fault {
        get { state.fault.withLock { $0 } }
        set { state.fault.withLock { $0 = newValue } }
    }

    var changes: [Change] { state.changes.withLock { $0 } }
    var asked: Int { state.asked.withLock { $0 } }

    private init(platforms: [Platform], channel: any Channel, state: State, isTLS: Bool) {
        self.platforms = platforms
        self.channel = channel
        self.state = state
        url = "\(isTLS ? "https://localhost" : "http://127.0.0.1"):\(channel.localAddress?.port ?? 0)"
    }

    /// - Parameters:
    ///   - count: of devices, half of them on each of two platforms.
    ///   - pair: a certificate for localhost and its key; nil speaks plain HTTP.
    static func with<Value>(
        devices count: Int, port: Int = 0, tls pair: (certificate: String, key: String)? = nil,
        _ body: (OldPCFServer) async throws -> Value
    ) async throws -> Value {
        let platforms = [("ios", count / 2), ("android-baidu", count - count / 2)].enumerated().map { index, platform in
            Platform(
                uuid: "22222222-3333-4444-8555-66666666666\(index)",
                secret: "77777777-8888-4999-8aaa-bbbbbbbbbbb\(index)",
                os: platform.0, count: platform.1)
        }
        let state = State()
        let answers = OldPCFAnswers(platforms: platforms, state: state)
        let context = try pair.map { pair in
            try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(pair.certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: pair.key, format: .pem))))
        }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(OldPCFHandler(answers: answers, state: state))
                }
            }.bind(host: "127.0.0.1", port: port).get()
        let result = await Result {
            try await body(OldPCFServer(platforms: platforms, channel: channel, state: state, isTLS: pair != nil))
        }
        try await channel.close()
        return try result.get()
    }
}

private final class OldPCFHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answers: OldPCFAnswers
    private let state: OldPCFServer.State
    private var head: HTTPRequestHead?
    private var body = ""

    init(answers: OldPCFAnswers, state: OldPCFServer.State) {
        self.answers = answers
        self.state = state
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = ""
        case .body(let bytes): body += String(buffer: bytes)
        case .end:
            guard let head else { return }
            let number = state.asked.withLock { asked in
                asked += 1
                return asked
            }
            switch state.fault.withLock({ $0 }) {
            case .hangs: return
            case .status(let status): reply((status, "broken"), context)
            case .now(let status) where number.isMultiple(of: 3) && state.isFirstFault(of: head.uri):
                reply((status, "broken"), context)
            case .busy(let count) where number <= count: reply((429, "too many"), context)
            case .busy, .now, .none: reply(answers.answer(head, body), context)
            }
        }
    }

    private func reply(_ answer: (status: Int, body: String), _ context: ChannelHandlerContext) {
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status),
            headers: [
                "content-length": "\(answer.body.utf8.count)", "content-type": "application/json", "retry-after": "0",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

/// Answers requests as the old server does.
private struct OldPCFAnswers: Sendable {
    let platforms: [OldPCFServer.Platform]
    let state: OldPCFServer.State

    func answer(_ head: HTTPRequestHead, _ body: String) -> (status: Int, body: String) {
        guard let url = URLComponents(string: head.uri), let caller = caller(head.headers) else { return (401, "") }
        let query = Dictionary((url.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
        let parts = url.path.split(separator: "/").map(String.init)
        if caller.user == OldPCFServer.application {
            guard caller.secret == OldPCFServer.apiKey else { return (401, "") }
            return application(parts, query)
        }
        guard let platform = platforms.first(where: { $0.uuid == caller.user && $0.secret == caller.secret }) else {
            return (401, "")
        }
        return device(head.method.rawValue, parts, body, of: platform)
    }

    private func caller(_ headers: HTTPHeaders) -> (user: String, secret: String)? {
        guard let text = headers.first(name: "authorization"), text.hasPrefix("Basic "),
            let data = Data(base64Encoded: String(text.dropFirst(6)))
        else { return nil }
        let parts = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    // MARK: What back ends ask

    private func application(_ parts: [String], _ query: [String: String]) -> (status: Int, body: String) {
        let page = Int(query["page"] ?? "") ?? 1
        switch parts {
        case ["v2", "registrations"]: return (200, registrations(query, page))
        case ["v2", "topics"]:
            let topics =
                (1...120).map { #"{"id":\#($0),"name":"topic\#($0)"}"# } + [
                    #"{"id":121,"name":"summer","expireAt":4000000000000}"#
                ]
            return (200, Self.page(topics, "topics", page))
        case ["v1", "locations"]: return (200, Self.page((1...60).map(Self.location), "locations", page))
        case ["v1", "location_groups"]:
            let group =
                #"{"id":3,"name":"Shops","description":"All","locations":[\#(Self.location(1)),\#(Self.location(2))]}"#
            return (200, Self.page([group], "location_groups", page))
        case ["v1", "geofence"]: return (200, Self.page([907, 911].map(Self.geofence), "geofences", page))
        case ["v1", "schedules"]:
            return (
                200,
                """
                [{"schedule_id":"a","scheduled_for":4000000000000,"push":{"message":7}},\
                \(Self.schedule("b", at: 4_000_000_000_000)),\(Self.schedule("c", at: 4_000_000_060_000)),\
                \(Self.schedule("d", at: 4_000_000_060_000))]
                """
            )
        default: return (404, "")
        }
    }

    private func registrations(_ query: [String: String], _ page: Int) -> String {
        let size = min(Int(query["size"] ?? "") ?? 20, 50)
        guard let platform = platforms.first(where: { $0.uuid == query["platformUuid"] }) else { return "{}" }
        let first = min(size * (page - 1), platform.count)
        let items = (first..<min(first + size, platform.count)).map { number in
            let device = platform.device(number)
            return """
                {"os":"\(platform.os)","os_version":"9.0","device_model":"M","device_manufacturer":"Apple",\
                "device_alias":"\(device.alias)","device_uuid":"\(device.uuid)","registration_token":"\(device.token)",\
                "active":\(device.isActive)}
                """
        }
        return """
            {"registrations":[\(items.joined(separator: ","))],"totalRegistrations":\(platform.count),\
            "totalPages":\((platform.count + size - 1) / size),"page":\(page),"size":\(size)}
            """
    }

    private static func page(_ items: [String], _ name: String, _ page: Int) -> String {
        let shown = items.dropFirst(50 * (page - 1)).prefix(50)
        return
            #"{"\#(name)":[\#(shown.joined(separator: ","))],"totalPages":\#((items.count + 49) / 50),"page":\#(page),"size":50}"#
    }

    private static func location(_ id: Int) -> String {
        #"{"id":\#(id),"name":"Shop \#(id)","lat":"41.\#(id)","long":"12.5","rad":100,"created_at":1,"updated_at":1}"#
    }

    /// They differ in their times alone.
    private static func schedule(_ id: String, at time: Int64) -> String {
        """
        {"schedule_id":"\(id)","scheduled_for":\(time),"push":{"scheduleAt":4000000000000,\
        "scheduleIn":0,"message":{"body":"Hello"},"target":{"topics":["topic1"],"platform":""}}}
        """
    }

    private static func geofence(_ id: Int) -> String {
        """
        {"id":\(id),"tags":["all"],"expiry_time":4000000000000,"trigger_type":"enter","locations":[\(location(1))],\
        "created_at":1,"updated_at":\(1_500_000_000_000 + id),"data":{"ios":{"alertBody":"Hello"},"android":{"a":"b"}}}
        """
    }

    // MARK: What devices ask

    private func device(
        _ method: String, _ parts: [String], _ body: String, of platform: OldPCFServer.Platform
    ) -> (status: Int, body: String) {
        if method != "GET" {
            let change = OldPCFServer.Change(method: method, path: parts.joined(separator: "/"), body: body)
            state.changes.withLock { $0.append(change) }
            return method == "DELETE" ? (204, "") : (200, #"{"device_uuid":"\#(name(in: parts, body))"}"#)
        }
        switch parts {
        case ["v1", "geofences"]:
            return (
                200,
                #"{"num":2,"last_modified":\#(OldPCFServer.lastModified),"deleted_geofence_ids":[],"geofences":[]}"#
            )
        case let parts where parts.count == 3 && parts[1] == "registration":
            guard let number = Int(parts[2].suffix(12), radix: 16), number < platform.count else { return (404, "") }
            return (200, Self.registration(platform.device(number), platform))
        default: return (404, "")
        }
    }

    /// The UUID in the path, or one that is made of the token.
    private func name(in parts: [String], _ body: String) -> String {
        guard parts.count < 3 else { return parts[2] }
        let digits = Array(body.components(separatedBy: "\"registration_token\":\"").last?.prefix(64).suffix(12) ?? "")
        return "99999999-9a0f-4a6e-8e35-" + String(digits)
    }

    private static func registration(_ device: OldPCFServer.Device, _ platform: OldPCFServer.Platform) -> String {
        let tags = device.tags.map { #"{"text":"\#($0)"}"# }.joined(separator: ",")
        let user = device.user.map { "\"\($0)\"" } ?? "null"
        return """
            {"os":"\(platform.os)","os_version":"9.0","device_model":"M","device_manufacturer":"Apple",\
            "device_alias":"\(device.alias)","device_uuid":"\(device.uuid)","registration_token":"\(device.token)",\
            "active":\(device.isActive),"custom_user_id":\(user),"tags":[\(tags)]}
            """
    }
}
