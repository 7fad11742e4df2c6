import HTTPExchange

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a client proves to Huawei who it is: the app's id and secret, as AppGallery Connect shows them.
public struct HMSCredentials: Sendable, Hashable {
    public let appID: String
    public let appSecret: String

    public init(appID: String, appSecret: String) throws(HMSCredentialsError) {
        guard !appID.isEmpty, appID.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw HMSCredentialsError("the app id has to be digits")
        }
        guard !appSecret.isEmpty, appSecret.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw HMSCredentialsError("the app secret is empty or holds other than visible ASCII")
        }
        self.appID = appID
        self.appSecret = appSecret
    }
}

/// Why credentials cannot be used.
public struct HMSCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For people; holds no secret.
    public let reason: String

    public var description: String { reason }

    init(_ reason: String) { self.reason = reason }
}

/// Which Push Kit to talk to.
public struct HMSEndpoint: Sendable, Hashable {
    /// `https://host` or `https://host:port`.
    public var pushURL: String
    public var tokenURL: String
    /// Certificates in PEM to trust instead of the system's, for simulators.
    public var trustRoots: [UInt8]?

    /// Source: Huawei, Push Kit REST API; Account Kit, "Client Credentials".
    public static let production = HMSEndpoint(
        pushURL: "https://push-api.cloud.huawei.com",
        tokenURL: "https://oauth-login.cloud.huawei.com/oauth2/v3/token")

    public init(pushURL: String, tokenURL: String, trustRoots: [UInt8]? = nil) {
        self.pushURL = pushURL
        self.tokenURL = tokenURL
        self.trustRoots = trustRoots
    }
}

/// Exchanges id and secret for a token. Source: RFC 6749 §4.4 and §5.
struct TokenServer: Sendable {
    static let deadline = Duration.seconds(10)

    let credentials: HMSCredentials
    let url: String
    let poster: HTTPPoster

    func fetch() async -> Result<AccessGrant, AccessTokenError> {
        let answer = await poster.post(
            url, headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Self.body(of: credentials), deadline: Self.deadline)
        return Self.grant(answer, url: url)
    }

    static func body(of credentials: HMSCredentials) -> [UInt8] {
        let form = [
            ("grant_type", "client_credentials"), ("client_id", credentials.appID),
            ("client_secret", credentials.appSecret),
        ]
        return Array(form.map { "\($0)=\(escaped($1))" }.joined(separator: "&").utf8)
    }

    /// Source: WHATWG URL, application/x-www-form-urlencoded; more is escaped than has to be.
    private static func escaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { escaped, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
            }
        }
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
        if reply.status == 200, let token = body?.access_token, !token.isEmpty,
            token.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        {
            return .success(
                AccessGrant(token: token, lifetime: .seconds(min(max(body?.expires_in ?? 3_600, 0), 86_400))))
        }
        // An error may stand behind 200 as well.
        let isRefusal =
            400..<500 ~= reply.status && reply.status != 429 && reply.status != 408 || body?.error != nil
        let words = [body?.error.map { "\($0)" }, body?.sub_error.map { "\($0)" }, body?.error_description]
            .compactMap { $0?.prefix(200) }.joined(separator: ", ")
        return .failure(
            AccessTokenError(
                isRefusal: isRefusal, "\(url) answered \(reply.status)\(words.isEmpty ? "" : ": \(words)")",
                retryAfter: reply.retryAfter))
    }

    private struct Body: Decodable {
        let access_token: String?
        let expires_in: Int64?
        let error: Int64?
        let sub_error: Int64?
        let error_description: String?
    }
}
