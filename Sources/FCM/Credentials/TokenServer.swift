import HTTPExchange

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Exchanges a signed assertion for a token. Source: RFC 7523 §2.1; RFC 6749 §5 for the answers.
struct TokenServer: Sendable {
    static let deadline = Duration.seconds(10)

    let credentials: FCMCredentials
    let poster: HTTPPoster
    let now: @Sendable () -> Int64

    func fetch() async -> Result<AccessGrant, AccessTokenError> {
        do throws(FCMCredentialsError) {
            let assertion = try credentials.key.assertion(at: now())
            let answer = await poster.post(
                credentials.tokenURI, headers: [("content-type", "application/x-www-form-urlencoded")],
                body: Self.body(assertion), deadline: Self.deadline)
            return Self.grant(answer, url: credentials.tokenURI)
        } catch {
            return .failure(AccessTokenError(isRefusal: true, error.reason))
        }
    }

    /// The assertion is of characters that a form takes as they are.
    static func body(_ assertion: String) -> [UInt8] {
        Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8)
    }

    static func grant(_ answer: HTTPAnswer, url: String) -> Result<AccessGrant, AccessTokenError> {
        switch answer {
        case .response(let reply): grant(reply, url)
        case .unprocessed(let fault), .unknown(let fault):
            .failure(AccessTokenError(isRefusal: false, "\(url) cannot be asked for a token: \(fault)"))
        case .credentialsRefused(let fault):
            .failure(AccessTokenError(isRefusal: true, "TLS with \(url) failed: \(fault)"))
        }
    }

    private static func grant(_ reply: HTTPReply, _ url: String) -> Result<AccessGrant, AccessTokenError> {
        let body = try? JSONDecoder().decode(Body.self, from: Data(reply.body))
        if reply.status == 200, let token = body?.access_token, isToken(token) {
            return .success(
                AccessGrant(token: token, lifetime: .seconds(min(max(body?.expires_in ?? 3_600, 0), 86_400))))
        }
        // 4xx: deleted key, disabled account, wrong clock. 429 and what no server should say are worth another attempt.
        let isRefusal = 400..<500 ~= reply.status && reply.status != 429 && reply.status != 408
        let words = [body?.error, body?.error_description].compactMap { $0?.prefix(200) }.joined(separator: ", ")
        return .failure(
            AccessTokenError(
                isRefusal: isRefusal, "\(url) answered \(reply.status)\(words.isEmpty ? "" : ": \(words)")",
                retryAfter: reply.retryAfter))
    }

    /// It goes into a header as it is.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private struct Body: Decodable {
        let access_token: String?
        let expires_in: Int64?
        let error: String?
        let error_description: String?
    }
}
