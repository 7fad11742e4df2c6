import AsyncHTTPClient
import BelfryCore
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// A client of one server's admin API.
struct AdminClient: Sendable {
    private let base: String
    private let key: String
    private let http: HTTPClient

    private static let deadline = TimeAmount.seconds(30)
    private static let replyBytesMax = 16 << 20

    /// - Parameter server: `http://host:port` or `https://host`, with or without a slash at its end.
    init(server: String, key: String) throws {
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host() != nil else {
            throw AdminFault("--server is `\(server)`, it has to be http://host:port or https://host")
        }
        base = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.key = key
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func shutdown() async throws { try await http.shutdown() }

    /// Sends a request, and reads the reply.
    func send<Body: Decodable>(
        _ method: String, _ path: String, _ body: [String: JSONValue]? = nil
    ) async throws -> Body {
        let bytes = try await exchange(method, path, body)
        do {
            return try JSONDecoder().decode(Body.self, from: bytes)
        } catch {
            throw AdminFault("\(base) does not speak the admin API of this version: \(error)")
        }
    }

    /// Sends a request whose reply only says that it is done.
    func perform(_ method: String, _ path: String, _ body: [String: JSONValue]? = nil) async throws {
        _ = try await exchange(method, path, body)
    }

    /// Asks, and reads the answer as any JSON; nil where there is none.
    func ask(_ method: String, _ path: String, _ body: [String: JSONValue]?) async throws -> JSONValue? {
        let bytes = try await exchange(method, path, body)
        return bytes.isEmpty ? nil : try JSONValue(json: bytes, field: "the answer of \(base)")
    }

    private func exchange(_ method: String, _ path: String, _ body: [String: JSONValue]?) async throws -> Data {
        var request = HTTPClientRequest(url: "\(base)/admin/v1/\(path)")
        request.method = .RAW(value: method)
        request.headers = ["Authorization": "Bearer \(key)"]
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: JSONValue.object(body).encoded))
        }
        let (status, reply) = try await execute(request)
        guard (200..<300).contains(status.code) else { throw refusal(status, reply) }
        return reply
    }

    private func execute(_ request: HTTPClientRequest) async throws -> (HTTPResponseStatus, Data) {
        do {
            let response = try await http.execute(request, timeout: Self.deadline)
            let bytes = try await response.body.collect(upTo: Self.replyBytesMax)
            return (response.status, Data(bytes.readableBytesView))
        } catch {
            throw AdminFault("the server at \(base) does not answer: \(error)")
        }
    }

    private func refusal(_ status: HTTPResponseStatus, _ body: Data) -> AdminFault {
        struct Envelope: Decodable { let message: String }
        let words = (try? JSONDecoder().decode(Envelope.self, from: body).message) ?? status.reasonPhrase
        return AdminFault("\(base) answered \(status.code): \(words)")
    }
}

/// Why a request to another server failed.
struct AdminFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
