import AsyncHTTPClient
import BelfryService
import FoundationEssentials
import KeyFiles
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Outbound

/// A client of one server's admin API.
struct AdminClient: Sendable {
    private let base: String
    /// Its address as errors name it.
    private let name: String
    private let key: String
    private let http: HTTPClient

    private static let deadline = TimeAmount.seconds(30)
    private static let replyBytesMax = 16 << 20

    /// - Parameters:
    ///   - server: `http://host:port` or `https://host`, with or without a slash at its end.
    ///   - caFile: certificates in PEM to trust instead of the system's.
    init(server: String, key: String, caFile: String? = nil) throws {
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host() != nil else {
            throw AdminFault("--server is `\(server.quotable)`, it has to be http://host:port or https://host")
        }
        // HTTP would refuse it in words that repeat the key.
        guard !key.isEmpty, key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw AdminFault(
                "the admin key (--key-file, BELFRY_ADMIN_KEY) is empty, or holds a space, a line end or another character that no key "
                    + "has")
        }
        base = server.hasSuffix("/") ? String(server.dropLast()) : server
        name = base.quotable
        self.key = key
        var configuration = HTTPClient.Configuration()
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        if let caFile { configuration.tlsConfiguration = try Self.tls(trusting: caFile) }
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    private static func tls(trusting path: String) throws -> TLSConfiguration {
        let pem = try InputFile.contents(of: path, for: "--ca-file (or SSL_CERT_FILE)")
        guard let roots = try? PEMFile.certificates(in: Array(pem)) else {
            throw AdminFault("--ca-file (or SSL_CERT_FILE): \(path) holds no certificates in PEM")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(roots)
        return tls
    }

    func shutdown() async throws { try await http.shutdown() }

    /// Sends a request, and reads the reply.
    func send<Body: Decodable>(
        _ method: String, _ path: String, _ body: JSONObject? = nil
    ) async throws -> Body {
        let bytes = try await exchange(method, path, body)
        do {
            return try JSONDecoder().decode(Body.self, from: bytes)
        } catch {
            throw AdminFault("\(name) does not speak the admin API of this version: \(error)")
        }
    }

    /// Sends bytes as they are, and reads the reply.
    func upload<Body: Decodable>(_ method: String, _ path: String, _ bytes: [UInt8]) async throws -> Body {
        let reply = try await exchange(method, path, (type: "application/octet-stream", bytes: bytes))
        return try JSONDecoder().decode(Body.self, from: reply)
    }

    /// Sends a request whose reply only says that it is done.
    func perform(_ method: String, _ path: String, _ body: JSONObject? = nil) async throws {
        _ = try await exchange(method, path, body)
    }

    /// Asks, and reads the answer as any JSON; nil where there is none.
    func ask(_ method: String, _ path: String, _ body: JSONObject?) async throws -> JSONValue? {
        let bytes = try await exchange(method, path, body)
        return bytes.isEmpty ? nil : try JSONValue(json: bytes, field: "the answer of \(name)")
    }

    private func exchange(_ method: String, _ path: String, _ body: JSONObject?) async throws -> Data {
        try await exchange(
            method, path, body.map { (type: "application/json", bytes: JSONValue.object($0).encoded) })
    }

    private func exchange(
        _ method: String, _ path: String, _ body: (type: String, bytes: [UInt8])?
    ) async throws -> Data {
        var request = HTTPClientRequest(url: "\(base)/admin/v1/\(path)")
        request.method = .RAW(value: method)
        request.headers = ["Authorization": "Bearer \(key)"]
        if let body {
            request.headers.add(name: "Content-Type", value: body.type)
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
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
            throw AdminFault("the server at \(name) \(Self.words(for: error))")
        }
    }

    private static func words(for error: any Error) -> String {
        switch error {
        case is NIOSSLError, is NIOSSLExtraError:
            "is not trusted by this command; give the CA that signed its certificate as --ca-file or SSL_CERT_FILE "
                + "(\(Outbound.tlsWords("\(error)")))"
        case let error as HTTPClientError where error == .connectTimeout: "does not answer: no connection in time"
        case let error as NIOConnectionError:
            error.connectionErrors.isEmpty
                ? "does not answer: \(error.host) has no address" : "does not answer: no connection"
        default: "does not answer: \(error)"
        }
    }

    private func refusal(_ status: HTTPResponseStatus, _ body: Data) -> AdminFault {
        struct Envelope: Decodable { let message: String }
        // What is no request of the API is answered with a sentence alone, such as plain HTTP on a port that speaks HTTPS.
        let sentence = String(decoding: body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
        let words =
            (try? JSONDecoder().decode(Envelope.self, from: body).message)
            ?? (sentence.isEmpty || sentence.hasPrefix("<") ? status.reasonPhrase : String(sentence))
        return AdminFault("\(name) answered \(status.code): \(words.withoutControls())", status: Int(status.code))
    }
}

/// Why a request to another server failed.
struct AdminFault: Error, CustomStringConvertible {
    let description: String
    /// The status of the server's answer; nil where there was none.
    let status: Int?

    init(_ description: String, status: Int? = nil) { (self.description, self.status) = (description, status) }
}
