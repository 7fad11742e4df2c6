import FoundationEssentials
import NIOCore
import NIOHTTP1
public import NIOSSL

/// The token that an OAuth server issued.
public struct AccessGrant: Sendable, Hashable {
    public let token: String
    public let lifetime: Duration

    public init(token: String, lifetime: Duration) {
        self.token = token
        self.lifetime = lifetime
    }
}

/// Why there is no token.
public struct AccessTokenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Whether the server refused us, so that an operator must act; otherwise it could not be asked, or failed.
    public let isRefusal: Bool
    /// A human-readable reason; contains no secret.
    public let reason: String
    /// The server's own figure.
    public let retryAfter: Duration?
    /// Why the server could not be asked, where it gave no answer.
    public let fault: OutboundFault?

    public var description: String { reason }

    public init(isRefusal: Bool, _ reason: String, retryAfter: Duration? = nil, fault: OutboundFault? = nil) {
        self.isRefusal = isRefusal
        self.reason = reason
        self.retryAfter = retryAfter
        self.fault = fault
    }
}

extension Outbound {
    /// Requests a token from an OAuth server. Source: RFC 6749 §4.4, §5; RFC 7523 §2.1.
    ///
    /// - Parameter form: the fields of the request, in their order.
    public func grant(
        from url: String, form: KeyValuePairs<String, String>, tls: TLSConfiguration? = nil,
        deadline: Duration = .seconds(10)
    ) async -> Result<AccessGrant, AccessTokenError> {
        let fields = form.map { "\(Self.escaped($0))=\(Self.escaped($1))" }
        let body = fields.joined(separator: "&")
        return Self.grant(await ask(url, form: body, authorization: nil, tls: tls, deadline: deadline), from: url)
    }

    /// Escapes a text as forms do. Source: WHATWG URL, application/x-www-form-urlencoded.
    private static func escaped(_ text: String) -> String { percentEncoded(text.utf8, keeping: "*-._") }

    /// Reads an answer of any bytes and never throws.
    public static func grant(_ answer: OutboundAnswer, from url: String) -> Result<AccessGrant, AccessTokenError> {
        switch answer {
        case .response(let response): grant(response, url)
        case .unprocessed(let fault) where [.tls, .addressRefused].contains(fault.code):
            .failure(AccessTokenError(isRefusal: true, "\(url) cannot be asked for a token: \(fault)"))
        case .unprocessed(let fault), .unknown(let fault):
            .failure(AccessTokenError(isRefusal: false, "\(url) cannot be asked for a token: \(fault)", fault: fault))
        }
    }

    /// A refusal is a 4xx: a deleted key, a disabled account, a wrong clock; or an error in a 200, as Huawei does. 408,
    /// 429 and unexpected statuses are worth another attempt.
    private static func grant(
        _ response: OutboundResponse, _ url: String
    ) -> Result<AccessGrant, AccessTokenError> {
        let answer = try? JSONDecoder().decode(GrantAnswer.self, from: Data(response.body))
        if response.status == 200, let token = answer?.token, isWord(token) {
            let seconds = min(max(answer?.lifetime ?? 3_600, 0), 86_400)
            return .success(AccessGrant(token: token, lifetime: .seconds(seconds)))
        }
        let errors = answer?.errors.joined(separator: ", ") ?? ""
        let words = errors.isEmpty ? Self.words(in: response.body) ?? "" : errors
        let isRefusal =
            response.status == 200
            ? !errors.isEmpty : 400..<500 ~= response.status && ![408, 429].contains(response.status)
        return .failure(
            AccessTokenError(
                isRefusal: isRefusal,
                "\(url) answered \(response.status)\(words.isEmpty ? "" : ": \(plain(words.utf8))")",
                retryAfter: response.headers.retryAfter()))
    }
}

/// Members of the wrong type count as not given. Huawei's errors are numbers, and some write numbers as text.
private struct GrantAnswer: Decodable {
    let token: String?
    let lifetime: Int64?
    let errors: [String]

    private enum Key: String, CodingKey {
        case access_token, accessToken, expires_in, error, sub_error, error_description
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func text(_ key: Key) -> String? {
            (try? container.decode(String.self, forKey: key))
                ?? (try? container.decode(Int64.self, forKey: key)).map { "\($0)" }
        }
        // Google's IAM writes the name in its own way.
        token =
            (try? container.decode(String.self, forKey: .access_token))
            ?? (try? container.decode(String.self, forKey: .accessToken))
        lifetime = text(.expires_in).flatMap { Int64($0) }
        errors = [Key.error, .sub_error, .error_description].compactMap(text)
    }
}
