import Foundation
import NIOCore
import NIOHTTP1
public import NIOSSL

/// An OAuth access token of the client-credentials grant, fetched when it is first needed and shared until it is near its end.
///
/// Of many who need a new one at the same time, one fetches it and the others wait. Source: RFC 6749 §4.4.
public actor AccessToken {
    public struct Token: Sendable, Hashable {
        /// As the `Authorization` header takes it.
        public let header: String
        let number: Int
        let lapsesAt: ContinuousClock.Instant
    }

    public enum Fault: Error, Sendable, Hashable {
        /// The service refuses the credentials. The words are for a person.
        case refused(String)
        /// It could not be asked, or is in trouble.
        case unavailable(retryAfter: Int?)
    }

    nonisolated let outbound: Outbound
    private let request: OutboundRequest
    private var held: Token?
    private var fetched = 0
    private var isFetching = false
    private var waiting: [CheckedContinuation<Result<Token, Fault>, Never>] = []

    private static let deadline = Duration.seconds(10)
    /// A token is replaced this long before its end, or at half its life if that is later.
    private static let reserve = Duration.seconds(300)

    /// - Parameter form: the fields of the request, in their order.
    public init(_ outbound: Outbound, url: String, form: KeyValuePairs<String, String>, tls: TLSConfiguration? = nil) {
        self.outbound = outbound
        let fields = form.map { "\(Self.escaped($0))=\(Self.escaped($1))" }
        request = OutboundRequest(
            url: url,
            headers: ["content-type": "application/x-www-form-urlencoded", "accept": "application/json"],
            body: ByteBuffer(string: fields.joined(separator: "&")), tls: tls)
    }

    /// - Parameter stale: a token that the provider refused; another one is returned.
    public func token(replacing stale: Token? = nil) async throws(Fault) -> Token {
        if let held, held.number != stale?.number, held.lapsesAt > .now { return held }
        guard !isFetching else {
            return try await withCheckedContinuation { waiting.append($0) }.get()
        }
        isFetching = true
        let result = await fetch()
        isFetching = false
        held = try? result.get()
        for waiter in waiting { waiter.resume(returning: result) }
        waiting = []
        return try result.get()
    }

    private func fetch() async -> Result<Token, Fault> {
        guard case .response(let response) = await outbound.post(request, deadline: Self.deadline) else {
            return .failure(.unavailable(retryAfter: nil))
        }
        guard response.status == 200 else { return .failure(Self.fault(response)) }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body)),
            !answer.access_token.isEmpty, answer.access_token.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return .failure(.unavailable(retryAfter: nil)) }
        fetched += 1
        let life = Duration.seconds(min(max(answer.expires_in ?? 3_600, 0), 31_536_000))
        return .success(
            Token(
                header: "Bearer \(answer.access_token)", number: fetched,
                lapsesAt: .now + max(life - Self.reserve, life / 2)))
    }

    private struct Answer: Decodable {
        let access_token: String
        let expires_in: Int?
    }

    private struct Refusal: Decodable {
        let error: String
        let error_description: String?
    }

    /// 400 and 401 carry the reason. Source: RFC 6749 §5.2.
    private static func fault(_ response: OutboundResponse) -> Fault {
        guard 400..<500 ~= response.status, ![408, 429].contains(response.status) else {
            return .unavailable(retryAfter: response.headers.retryAfter())
        }
        let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
        let words = [refusal?.error, refusal?.error_description].compactMap(\.self).joined(separator: ": ")
        return .refused("the token service answered \(response.status) \(Outbound.plain(words.utf8))")
    }

    /// As forms write it. Source: WHATWG URL, application/x-www-form-urlencoded.
    private static func escaped(_ text: String) -> String {
        Outbound.percentEncoded(text.utf8, keeping: "*-._")
    }
}

extension Outbound {
    /// Letters, digits and `kept` as they are, all else as `%XX`.
    public static func percentEncoded(_ text: some Sequence<UInt8>, keeping kept: StaticString = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: encoded.append(byte)
            default:
                let isKept = kept.withUTF8Buffer { $0.contains(byte) }
                encoded += isKept ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
