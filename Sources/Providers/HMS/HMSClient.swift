import CryptoExtras
import FoundationEssentials
import HTTP2Client
import KeyFiles
public import NIOSSL
public import Outbound

/// Sends messages through Huawei's Push Kit for one app or project.
///
/// A request goes to 1,000 devices; its answer says which of their tokens are illegal. Answers are values, one for each
/// device in order; `send` never throws and always returns by its deadline.
public struct HMSClient: Sendable {
    /// Source: Huawei, Push Kit REST API; Account Kit, "Client Credentials".
    public struct Configuration: Sendable {
        /// `https://host` or `https://host:port`.
        public var pushURL = "https://push-api.cloud.huawei.com"
        public var tokenURL = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
        /// Instead of the standard, for simulators.
        public var tls: TLSConfiguration?

        public init() {}
    }

    private let outbound: Outbound
    private let token: AccessToken
    private let url: String
    private let tls: TLSConfiguration?

    /// Source: Huawei, Push Kit, "Downlink Message Sending", `token`.
    public static let devicesMax = 1_000
    /// An answer may list 1,000 tokens, within a string.
    private static let answerBytesMax = 1_048_576

    public init(_ outbound: Outbound, credentials: HMSCredentials, configuration: Configuration = Configuration()) {
        self.outbound = outbound
        url = "\(configuration.pushURL)\(credentials.path)/messages:send"
        tls = configuration.tls
        token = AccessToken {
            switch credentials.proof {
            case .key(let key): key.grant(at: Outbound.now())
            case .secret(let clientID, let secret):
                await outbound.grant(
                    from: configuration.tokenURL,
                    form: [
                        "grant_type": "client_credentials", "client_id": clientID, "client_secret": secret,
                    ], tls: configuration.tls)
            }
        }
    }

    /// Sends to all devices, 1,000 at a time. The deadline is for all of it.
    public func send(
        _ message: HMSMessage, to tokens: [[UInt8]], urgent: Bool = false, within deadline: Duration
    ) async -> [HMSAnswer] {
        let parts = Outbound.parts(of: tokens, count: Self.devicesMax)
        var headers = [HTTP2Header("content-type", "application/json")]
        if let pushType = message.pushType { headers.append(HTTP2Header("push-type", "\(pushType)")) }
        var batch = OutboundBatch(
            OutboundBatch.Shape(headers: headers, body: .own, answerBytesMax: Self.answerBytesMax, tls: tls))
        for part in parts { batch.append(url: url, body: message.body(for: part)) }
        let results = await outbound.post(
            batch, with: token, urgent: urgent, silence: deadline, within: deadline, isRefused: HMSAnswer.refusesToken)
        return zip(results, parts).flatMap { result, part in
            switch result {
            case .success(let answer): HMSAnswer.answers(answer, tokens: part)
            case .failure(let error): part.map { _ in HMSAnswer.unauthorized(error) }
            }
        }
    }
}

/// How a client authenticates to Huawei, and which version of Push Kit's API it uses.
///
/// Source: Huawei, Push Kit REST API, v1 for an app, v2 for a project, v3 for HarmonyOS 5 and later.
public struct HMSCredentials: Sendable {
    /// The path before `/messages:send`.
    let path: String
    let proof: Proof

    enum Proof: Sendable {
        /// Exchanged for an access token.
        case secret(clientID: String, secret: String)
        /// Signs the access tokens itself.
        case key(HMSServiceAccountKey)
    }

    /// The app's id and secret, as AppGallery Connect shows them.
    ///
    /// - Parameter projectID: nil for v1, otherwise v2 is used for the project.
    public init(appID: String, appSecret: String, projectID: String? = nil) throws(HMSCredentialsError) {
        try Self.check(appID, "app id")
        if let projectID { try Self.check(projectID, "project id") }
        guard Outbound.isWord(appSecret) else {
            throw HMSCredentialsError("the app secret is empty or holds other than visible ASCII")
        }
        path = projectID.map { "/v2/\($0)" } ?? "/v1/\(appID)"
        proof = .secret(clientID: appID, secret: appSecret)
    }

    /// For v3.
    ///
    /// - Parameter serviceAccount: the bytes of the JSON file that Huawei's API console issues.
    public init(serviceAccount: [UInt8]) throws(HMSCredentialsError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(serviceAccount)) else {
            throw HMSCredentialsError(
                "the service account is not JSON with project_id, key_id, private_key and sub_account")
        }
        try Self.check(file.project_id, "project_id")
        path = "/v3/\(file.project_id)"
        proof = .key(
            try HMSServiceAccountKey(pem: file.private_key, keyID: file.key_id, subAccount: file.sub_account))
    }

    /// Whether v3 is used.
    public var isServiceAccount: Bool { if case .key = proof { true } else { false } }

    private struct File: Decodable {
        let project_id: String
        let key_id: String
        let private_key: String
        let sub_account: String
    }

    /// It is put into a path unescaped.
    private static func check(_ id: String, _ name: String) throws(HMSCredentialsError) {
        guard !id.isEmpty, id.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw HMSCredentialsError("the \(name) has to be digits")
        }
    }
}

/// Why credentials cannot be used.
public struct HMSCredentialsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A human-readable reason; contains no secret.
    public let reason: String

    public var description: String { reason }

    init(_ reason: String) { self.reason = reason }
}

/// Signs the access tokens of a service account: JWTs with PS256.
///
/// Source: Huawei, Push Kit, "Service account authentication"; RFC 7518 §3.5 for PS256.
struct HMSServiceAccountKey: Sendable {
    static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    /// The longest lifetime that Huawei accepts, in seconds.
    static let lifetime: Int64 = 3_600

    /// A signature takes eight times as long with a key of twice the length.
    static let bitsMax = 8_192

    private let key: _RSA.Signing.PrivateKey
    private let head: String
    private let subAccount: String

    init(pem: String, keyID: String, subAccount: String) throws(HMSCredentialsError) {
        guard let key = try? _RSA.Signing.PrivateKey(derRepresentation: PEMFile(pem).privateKey()),
            key.keySizeInBits <= Self.bitsMax
        else {
            throw HMSCredentialsError(
                "private_key is not an RSA private key of 2,048 to \(Self.bitsMax) bits in PEM")
        }
        guard Outbound.isWord(keyID), Outbound.isWord(subAccount) else {
            throw HMSCredentialsError("key_id or sub_account is empty or holds other than visible ASCII")
        }
        self.key = key
        self.subAccount = subAccount
        let keyID = String(decoding: JSONText.quoted(keyID), as: UTF8.self)
        head = Base64.encode(#"{"alg":"PS256","kid":\#(keyID),"typ":"JWT"}"#.utf8)
    }

    /// - Parameter now: Unix seconds.
    func grant(at now: Int64) -> Result<AccessGrant, AccessTokenError> {
        let issuer = String(decoding: JSONText.quoted(subAccount), as: UTF8.self)
        let claims = #"{"aud":"\#(Self.audience)","exp":\#(now + Self.lifetime),"iat":\#(now),"iss":\#(issuer)}"#
        let signed = "\(head).\(Base64.encode(claims.utf8))"
        do {
            let signature = try key.signature(for: Array(signed.utf8), padding: .PSS)
            let token = "\(signed).\(Base64.encode(signature.rawRepresentation))"
            return .success(AccessGrant(token: token, lifetime: .seconds(Self.lifetime)))
        } catch {
            return .failure(AccessTokenError(isRefusal: true, "the access token could not be signed: \(error)"))
        }
    }
}

/// The result of one message to one device.
public enum HMSAnswer: Sendable, Hashable {
    /// It was accepted. It may still never reach the device.
    case accepted(requestID: String)
    /// This token was not accepted, whatever others of the same request were.
    case illegalToken(HMSCause)
    /// The whole request was not accepted.
    case rejected(HMSRejection)
    /// It was not sent: there is no token of ours.
    case unauthorized(AccessTokenError)
    /// Certainly not processed.
    case unprocessed(OutboundFault)
    /// It was sent, and there is no answer that can be understood.
    case unknown(OutboundFault)
}

/// Why a token was not accepted. v1 and v2 name no reason.
///
/// Source: Huawei, Push Kit for HarmonyOS, "Response codes", 80100000 and 80300007.
public struct HMSCause: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    public static let unstated = Self("illegal_tokens")
    public static let tokenFormat = Self("tokenFormatError")
    public static let noRight = Self("noRight")
    public static let noPushTypeRight = Self("noPushTypeRight")
    public static let noLiveNotificationRight = Self("noRightToSendThisLiveNotificationEvent")
    public static let appInformation = Self("appinfoError")
    public static let country = Self("countryNotSupport")
    public static let platform = Self("tokenPlatformNotSupport")
    public static let penalty = Self("disableSendHuaweiMsgBecauseOfPenalty")
}

public struct HMSRejection: Sendable, Hashable {
    public let status: Int
    /// nil where the body has none: the status decides.
    public let code: HMSCode?
    public let retryAfter: Duration?
    /// Push Kit's sentence for people, in visible ASCII.
    public let words: String?

    public init(status: Int, code: HMSCode?, retryAfter: Duration? = nil, words: String? = nil) {
        self.status = status
        self.code = code
        self.retryAfter = retryAfter
        self.words = words
    }
}

/// Push Kit's own codes. New ones may come; an unknown one is kept as it was.
///
/// Source: Huawei, Push Kit REST API, "Common Parameters", result codes.
public struct HMSCode: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { text }

    public static let success = Self("80000000")
    /// Some tokens are illegal; the message lists them.
    public static let partial = Self("80100000")
    public static let badParameters = Self("80100001")
    public static let tokenCount = Self("80100002")
    public static let badStructure = Self("80100003")
    public static let badExpiration = Self("80100004")
    public static let badCollapseKey = Self("80100013")
    public static let sensitiveContent = Self("80100016")
    public static let tooManyTopicMessages = Self("80100017")
    public static let badBody = Self("80100018")
    public static let authenticationFailed = Self("80200001")
    public static let tokenExpired = Self("80200003")
    public static let jwtExpired = Self("80200005")
    public static let noPermission = Self("80300002")
    public static let allTokensInvalid = Self("80300007")
    public static let tooLarge = Self("80300008")
    public static let tooManyTokens = Self("80300010")
    public static let noHighPriority = Self("80300011")
    public static let jwtTooLong = Self("80300036")
    public static let penalty = Self("80300037")
    public static let tokenServer = Self("80600003")
    public static let internalError = Self("81000001")
}

extension HMSAnswer {
    /// The answers of the devices behind `tokens`, in their order. Accepts any bytes and never fails.
    public static func answers(_ answer: OutboundAnswer, tokens: some Collection<[UInt8]>) -> [HMSAnswer] {
        switch answer {
        case .response(let response): answers(response, tokens)
        case .unprocessed(let fault): all(tokens, .unprocessed(fault))
        case .unknown(let fault): all(tokens, .unknown(fault))
        }
    }

    /// A 200 alone does not mean success.
    private static func answers(_ response: OutboundResponse, _ tokens: some Collection<[UInt8]>) -> [HMSAnswer] {
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        let accepted = HMSAnswer.accepted(requestID: body?.requestID ?? "")
        let illegal = body?.illegalTokens ?? [:]
        switch body?.code.map({ HMSCode($0) }) {
        case .success?: return all(tokens, accepted)
        case .partial? where illegal.isEmpty:
            return all(
                tokens,
                .unknown(OutboundFault(.unreadable, "some tokens are illegal, and the answer does not say which")))
        case .partial?: return tokens.map { token in illegal[token].map { .illegalToken($0) } ?? accepted }
        case nil where response.status == 200:
            return all(tokens, .unknown(OutboundFault(.unreadable, "the answer holds no result code")))
        case let code:
            let rejected = HMSAnswer.rejected(
                HMSRejection(
                    status: response.status, code: code, retryAfter: response.headers.retryAfter(),
                    words: Outbound.words(in: response.body)))
            guard code == .allTokensInvalid else { return all(tokens, rejected) }
            return tokens.map { token in illegal[token].map { .illegalToken($0) } ?? rejected }
        }
    }

    private static func all(_ tokens: some Collection<[UInt8]>, _ answer: HMSAnswer) -> [HMSAnswer] {
        Array(repeating: answer, count: tokens.count)
    }

    /// Whether our token was not accepted.
    static func refusesToken(_ response: OutboundResponse) -> Bool {
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        guard let code = body?.code.map({ HMSCode($0) }) else { return response.status == 401 }
        return [.authenticationFailed, .tokenExpired, .jwtExpired, .jwtTooLong].contains(code)
    }
}

/// Members of the wrong type count as not given.
private struct Body: Decodable {
    let code: String?
    let requestID: String?
    /// The listed tokens, each with the cause it is listed under.
    let illegalTokens: [[UInt8]: HMSCause]

    private enum Key: String, CodingKey {
        case code, msg
        case requestID = "requestId"
    }

    /// JSON within a string of the JSON: lists of tokens, by their causes, at either of two depths.
    private enum Partial: Decodable {
        case tokens([String])
        case causes([String: [String]])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let tokens = try? container.decode([String].self) {
                self = .tokens(tokens)
            } else if let causes = try? container.decode([String: [String]].self) {
                self = .causes(causes)
            } else {
                self = .other
            }
        }

        func causes(named name: String) -> [String: [String]] {
            switch self {
            case .tokens(let tokens): [name: tokens]
            case .causes(let causes): causes
            case .other: [:]
            }
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let code = try? container.decode(String.self, forKey: .code)
        self.code = code.flatMap { text in
            1...16 ~= text.utf8.count && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? text : nil
        }
        requestID = try? container.decode(String.self, forKey: .requestID)
        let text = (try? container.decode(String.self, forKey: .msg)) ?? ""
        var illegal: [[UInt8]: HMSCause] = [:]
        for (name, part) in (try? JSONDecoder().decode([String: Partial].self, from: Data(text.utf8))) ?? [:] {
            for (cause, tokens) in part.causes(named: name) {
                for token in tokens where illegal[Array(token.utf8)] ?? .unstated == .unstated {
                    illegal[Array(token.utf8)] = HMSCause(cause)
                }
            }
        }
        illegalTokens = illegal
    }
}
