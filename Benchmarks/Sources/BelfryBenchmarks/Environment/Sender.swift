/// The back end that posts pushes.
struct Sender: Sendable {
    let server: Server
    private let http: HTTPCaller

    struct Posted: Sendable {
        let receipt: String
        /// Milliseconds since 1970: when the request left, and when its answer was read.
        let sentAt: Double
        let answeredAt: Double
    }

    init(_ server: Server) async throws {
        self.server = server
        http = HTTPCaller(port: server.port)
        try await http.connect()
    }

    func push(to part: Crowd.Part) async throws -> Posted { try await post(#"{"topics":["\#(part.rawValue)"]}"#) }

    func push(toTopics topics: [String]) async throws -> Posted {
        try await post(#"{"topics":[\#(topics.map { "\"\($0)\"" }.joined(separator: ","))]}"#)
    }

    /// - Parameter platform: nil for all of the application.
    func push(toTopic topic: String, on platform: String?) async throws -> Posted {
        let platforms = platform.map { #","platforms":["\#($0)"]"# } ?? ""
        return try await post(#"{"topics":["\#(topic)"]\#(platforms)}"#)
    }

    /// - Parameter message: as JSON.
    func push(_ message: String, toTopic topic: String) async throws -> Posted {
        let sentAt = WallClock.now
        let reply = try await http.post(
            "/v1/push", credentials: server.identity.sender,
            #"{"message":\#(message),"target":{"topics":["\#(topic)"]}}"#)
        guard let receipt = reply.string("receipt_id") else {
            throw BenchmarkFault("a push was answered \(reply.status): \(reply.text)")
        }
        return Posted(receipt: receipt, sentAt: sentAt, answeredAt: reply.at)
    }

    /// Posts a push to what an expression means, by the admin API.
    func push(where expression: String) async throws -> Posted {
        let key = try server.adminKey
        let sentAt = WallClock.now
        let reply = try await http.post(
            "/admin/v1/apps/\(server.identity.app_uuid)/pushes", key: key,
            #"{"message":{"body":"news"},"target":{"where":"\#(expression)"}}"#)
        return Posted(receipt: reply.string("receipt_id") ?? "", sentAt: sentAt, answeredAt: reply.at)
    }

    func push(toDevice uuid: String) async throws -> Posted { try await post(#"{"devices":["\#(uuid)"]}"#) }

    /// Posts a push to one device that is due at a moment, in milliseconds since 1970.
    func schedule(toDevice uuid: String, at dueAt: Int) async throws {
        let reply = try await http.post(
            "/v1/push", credentials: server.identity.sender,
            #"{"message":{"body":"due"},"target":{"devices":["\#(uuid)"]},"scheduleAt":\#(dueAt)}"#)
        guard reply.string("schedule_id") != nil else {
            throw BenchmarkFault("a push due later was answered \(reply.status): \(reply.text)")
        }
    }

    private func post(_ target: String) async throws -> Posted {
        let text = String(repeating: "x", count: 120)
        let sentAt = WallClock.now
        let reply = try await http.post(
            "/v1/push", credentials: server.identity.sender, #"{"message":{"body":"\#(text)"},"target":\#(target)}"#)
        return Posted(receipt: reply.string("receipt_id") ?? "", sentAt: sentAt, answeredAt: reply.at)
    }
}
