import BelfryService
import Foundation
import HTTP2Client
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
    private let http: CommandHTTP

    /// - Parameters:
    ///   - server: `http://host:port` or `https://host`, with or without a slash at its end.
    ///   - caFile: certificates in PEM to trust instead of the system's.
    init(server: String, key: String, caFile: String? = nil) throws {
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil
        else {
            throw AdminFault(
                "--server (or BELFRY_SERVER) is `\(server.quotable)`, it has to be http://host:port or https://host")
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
        http = CommandHTTP(
            trusting: try caFile.map(Self.certificates), connectDeadline: .seconds(5), deadline: .seconds(30))
    }

    private static func certificates(in path: String) throws -> [NIOSSLCertificate] {
        let pem = try InputFile.contents(of: path, for: "--ca-file (or SSL_CERT_FILE)")
        guard let roots = try? PEMFile.certificates(in: Array(pem)) else {
            throw AdminFault("--ca-file (or SSL_CERT_FILE): \(path) holds no certificates in PEM")
        }
        return roots
    }

    func shutdown() async { await http.shutdown() }

    /// Sends a request, and reads the reply.
    func send<Body: Decodable>(
        _ method: String, _ path: String, _ body: JSONObject? = nil
    ) async throws -> Body {
        try Body(answer: await exchange(method, path, body).body)
    }

    /// Sends bytes as they are, and reads the reply.
    func upload<Body: Decodable>(_ method: String, _ path: String, _ bytes: [UInt8]) async throws -> Body {
        try Body(answer: await exchange(method, path, (type: "application/octet-stream", bytes: bytes)).body)
    }

    /// Asks, and reads the answer as any JSON, nil where there is none, and its entity tag.
    ///
    /// - Parameter tag: the version to change; nil for any.
    func ask(
        _ method: String, _ path: String, _ body: JSONObject?, ifMatch tag: String? = nil
    ) async throws -> (reply: JSONValue?, tag: String?) {
        let response = try await exchange(method, path, body, ifMatch: tag)
        let bytes = response.body
        let reply = bytes.isEmpty ? nil : try JSONValue(json: bytes, field: "the answer of \(name)")
        return (reply, response.headers.first(name: "etag"))
    }

    private func exchange(
        _ method: String, _ path: String, _ body: JSONObject?, ifMatch tag: String? = nil
    ) async throws -> OutboundResponse {
        try await exchange(
            method, path, body.map { (type: "application/json", bytes: JSONValue.object($0).encoded) }, ifMatch: tag)
    }

    private func exchange(
        _ method: String, _ path: String, _ body: (type: String, bytes: [UInt8])?, ifMatch tag: String? = nil
    ) async throws -> OutboundResponse {
        var headers = ["authorization": "Bearer \(key)"]
        headers["content-type"] = body?.type
        headers["if-match"] = tag
        if method == "POST" { headers["idempotency-key"] = UUID().lowercased }
        let (url, bytes) = ("\(base)/admin/v1/\(path)", body?.bytes ?? [])
        var answer = await http.answer(method, url, headers, bytes)
        // By its key a POST whose answer was lost gets that answer, or a 409 where the server does not know it.
        if method == "POST", case .unknown = answer,
            case .response(let again) = await http.answer(method, url, headers, bytes), again.status != 409
        {
            answer = .response(again)
        }
        switch answer {
        case .response(let response):
            guard (200..<300).contains(response.status) else { throw refusal(response) }
            return response
        case .unprocessed(let fault): throw AdminFault("the server at \(name) \(words(for: fault))")
        case .unknown(let fault):
            let fate = method == "GET" ? "" : "; it is not known whether the request took effect"
            throw AdminFault("the server at \(name) \(words(for: fault))\(fate)")
        }
    }

    private func words(for fault: OutboundFault) -> String {
        switch fault.code {
        case .tls:
            "is not trusted by this command; give the CA that signed its certificate as --ca-file or SSL_CERT_FILE "
                + "(\(fault.tlsWords))"
        case .unresolved: "does not answer: \(URL(string: base)?.host() ?? base) has no address"
        case .connect: "does not answer: no connection"
        default: "does not answer: \(fault)"
        }
    }

    private func refusal(_ response: OutboundResponse) -> AdminFault {
        struct Envelope: Decodable { let message: String }
        // What is no request of the API is answered with a sentence alone, such as plain HTTP on a port that speaks HTTPS.
        let sentence =
            String(decoding: response.body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
        let words =
            (try? JSONDecoder().decode(Envelope.self, from: Data(response.body)).message)
            ?? (sentence.isEmpty || sentence.hasPrefix("<")
                ? HTTPResponseStatus(statusCode: response.status).reasonPhrase : String(sentence))
        let advice = (300..<400).contains(response.status) ? "; give the address that it leads to as --server" : ""
        return AdminFault(
            "\(name) answered \(response.status): \(words.withoutControls())\(advice)", status: response.status)
    }
}

/// Why a request to another server failed.
struct AdminFault: Error, CustomStringConvertible {
    let description: String
    /// The status of the server's answer; nil where there was none.
    let status: Int?

    init(_ description: String, status: Int? = nil) { (self.description, self.status) = (description, status) }

    /// Whether the same request may get an answer a little later.
    var isTransient: Bool { status.map { $0 == 429 || $0 >= 500 } ?? true }
}

extension Decodable {
    /// Reads an answer of the admin API. Throws where its form is another, as that of a different server.
    init(answer: some Sequence<UInt8>) throws(AdminFault) {
        do { self = try JSONDecoder().decode(Self.self, from: Data(answer)) } catch {
            throw AdminFault("the server does not speak the admin API of this version: \(error)", status: 200)
        }
    }
}

extension JSONValue? {
    /// The things of a list, which an answer of the admin API has even where there are none.
    func list(_ member: String) throws(AdminFault) -> [JSONValue] {
        if case .array(let things)? = self?[member] { return things }
        throw AdminFault("the server does not speak the admin API of this version: its answer has no \(member)")
    }
}

/// Requests of a command to one server, over the connections that providers are posted to by; no proxy is used.
struct CommandHTTP: Sendable {
    private let connections: HostConnections
    private let tls: TLSConfiguration?
    private let deadline: Duration

    /// - Parameter roots: certificates to trust instead of the system's.
    init(trusting roots: [NIOSSLCertificate]? = nil, connectDeadline: Duration, deadline: Duration) {
        var configuration = HostConnections.Configuration()
        configuration.connectDeadline = connectDeadline
        connections = HostConnections(configuration, on: .singletonMultiThreadedEventLoopGroup)
        var tls = TLSConfiguration.makeClientConfiguration()
        if let roots { tls.trustRoots = .certificates(roots) }
        self.tls = tls
        self.deadline = deadline
    }

    func shutdown() async { await connections.shutdown() }

    /// - Parameters:
    ///   - url: as people type it: other letters in host and path get their form in ASCII, a user is left out.
    ///   - headers: by their names in lowercase.
    func ask(
        _ method: String, _ url: String, _ headers: [String: String], _ body: [UInt8] = []
    ) async throws(OutboundFault) -> OutboundResponse {
        switch await answer(method, url, headers, body) {
        case .response(let response): return response
        case .unprocessed(let fault), .unknown(let fault): throw fault
        }
    }

    /// As `ask`, and tells whether a request without an answer may have been written.
    func answer(
        _ method: String, _ url: String, _ headers: [String: String], _ body: [UInt8]
    ) async -> OutboundAnswer {
        var address = URLComponents(string: url)
        address?.user = nil
        address?.password = nil
        var request = OutboundRequest(
            method, address?.string ?? url, headers: headers.map { HTTP2Header($0, $1) }, body: body)
        request.tls = tls
        request.answerBytesMax = 16 << 20
        request.keptHeaders = ["etag", "retry-after"]
        return await Outbound(connections: connections).ask(request, deadline: deadline)
    }
}

extension OutboundFault {
    /// The reason of a fault of TLS, without what all of them have in common.
    var tlsWords: String { description.replacing("TLS failed: ", with: "") }
}
