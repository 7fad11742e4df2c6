import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
public import NIOSSL

/// One request to a token server. They are rare, so a client for general use does.
struct TokenRequest: Sendable {
    var url: String
    var headers: HTTPHeaders
    /// nil for a GET.
    var body: ByteBuffer?
    /// Instead of the client's own.
    var tls: TLSConfiguration?

    /// How much of the answer's body is read.
    static let answerBytesMax = 64 * 1_024
}

extension Outbound {
    /// Sends one request that is rare, and reads at most 64 KiB of its answer: a POST of a form as browsers send them, or a GET.
    ///
    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter tls: nil for the client's own.
    public func ask(
        _ url: String, form: String?, authorization: String?, tls: TLSConfiguration? = nil, deadline: Duration
    ) async -> OutboundAnswer {
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let authorization { headers.add(name: "Authorization", value: authorization) }
        if form != nil { headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded") }
        return await ask(
            TokenRequest(url: url, headers: headers, body: form.map(ByteBuffer.init(string:)), tls: tls),
            deadline: deadline)
    }

    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter deadline: for everything: connecting, waiting, the whole answer.
    func ask(_ request: TokenRequest, deadline: Duration) async -> OutboundAnswer {
        guard let (origin, _) = PostOrigin.split(request.url) else { return .unprocessed(.badURL) }
        if let refusal = await refusal(of: origin) { return .unprocessed(refusal) }
        let lapsesAt = ContinuousClock.now + deadline
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.headers = request.headers
        if let body = request.body {
            outgoing.method = .POST
            outgoing.body = .bytes(body)
        }
        outgoing.tlsConfiguration = request.tls
        do {
            let response = try await client.execute(outgoing, timeout: TimeAmount(deadline))
            return .response(
                OutboundResponse(
                    status: Int(response.status.code), headers: response.headers,
                    body: try await Self.body(of: response, until: lapsesAt)))
        } catch is AddressRefused where isGuarded {
            // The name resolved to something else a moment before. The error must not reveal whether something listens
            // there.
            return .unprocessed(.noConnection)
        } catch {
            return OutboundAnswer(error, isGuarded: isGuarded)
        }
    }

    /// The client's own deadline ends with the head of the answer.
    private static func body(
        of response: HTTPClientResponse, until lapsesAt: ContinuousClock.Instant
    ) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await head(of: response.body) }
            group.addTask {
                try await Task.sleep(until: lapsesAt, clock: .continuous)
                throw CancellationError()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private static func head(of body: HTTPClientResponse.Body) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in body {
            bytes.append(contentsOf: chunk.readableBytesView.prefix(TokenRequest.answerBytesMax - bytes.count))
            guard bytes.count < TokenRequest.answerBytesMax else { break }
        }
        return bytes
    }
}
