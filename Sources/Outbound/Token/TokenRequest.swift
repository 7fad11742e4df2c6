import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL

/// One request to a token server. They are rare, so a client for general use does.
struct TokenRequest: Sendable {
    var url: String
    var headers: HTTPHeaders
    var body: ByteBuffer
    /// Instead of the client's own.
    var tls: TLSConfiguration?

    /// How much of the answer's body is read.
    static let answerBytesMax = 64 * 1_024
}

extension Outbound {
    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter deadline: for everything: connecting, waiting, the whole answer.
    func ask(_ request: TokenRequest, deadline: Duration) async -> OutboundAnswer {
        guard let (origin, _) = PostOrigin.split(request.url) else { return .unprocessed(.badURL) }
        if let refusal = await refusal(of: origin) { return .unprocessed(refusal) }
        let lapsesAt = ContinuousClock.now + deadline
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = .POST
        outgoing.headers = request.headers
        outgoing.body = .bytes(request.body)
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
