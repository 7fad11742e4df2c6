import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A back end or an app: it knows a server by its HTTP API alone.
struct Caller: Sendable {
    let base: String
    let user: String
    let secret: String

    /// One for all tests. A server that is not there is told at once, and none closes a connection first that is used again.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .milliseconds(300)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    struct TestAnswer: Sendable {
        let status: Int
        let headers: [String: String]
        let body: String
    }

    struct Refused: Error { let reply: TestAnswer }

    /// Sends a push and returns its receipt's id. Throws unless it was accepted.
    func push(_ body: String) async throws -> UUID {
        struct Answer: Decodable { let receipt_id: UUID }
        let reply = try await send("POST", "/v1/push", body)
        guard reply.status == 200 else { throw Refused(reply: reply) }
        return try JSONDecoder().decode(Answer.self, from: Data(reply.body.utf8)).receipt_id
    }

    func push(_ text: String, toTopic topic: String) async throws -> UUID {
        try await push(#"{"message":{"body":"\#(text)"},"target":{"topics":["\#(topic)"]}}"#)
    }

    func push(_ text: String, to device: UUID) async throws -> UUID {
        try await push(#"{"message":{"body":"\#(text)"},"target":{"devices":["\#(device.uuidString)"]}}"#)
    }

    func pushToAll(_ text: String) async throws -> UUID {
        try await push(#"{"message":{"body":"\#(text)"},"target":{"platform":"all"}}"#)
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:],
        timeout: TimeAmount = .seconds(30)
    ) async throws -> TestAnswer {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        let credentials = Data("\(user):\(secret)".utf8).base64EncodedString()
        request.headers = ["Authorization": "Basic \(credentials)", "Content-Type": "application/json"]
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await Self.http.execute(request, timeout: timeout)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        let headers = response.headers.map { ($0.name.lowercased(), $0.value) }
        return TestAnswer(
            status: Int(response.status.code), headers: Dictionary(headers) { first, _ in first },
            body: String(buffer: bytes))
    }
}
