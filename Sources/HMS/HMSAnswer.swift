import FoundationEssentials
public import Outbound

/// The result of one message to one device.
public enum HMSAnswer: Sendable, Hashable {
    /// It was accepted. It may still never reach the device.
    case accepted(requestID: String)
    /// Others of the same request were accepted, this token was not.
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

/// Why one token of several was not accepted. v1 and v2 name no reason.
///
/// Source: Huawei, Push Kit for HarmonyOS, "Response codes", 80100000.
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
    public static let noPermission = Self("80300002")
    public static let allTokensInvalid = Self("80300007")
    public static let tooLarge = Self("80300008")
    public static let tooManyTokens = Self("80300010")
    public static let noHighPriority = Self("80300011")
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
        switch body?.code.map({ HMSCode($0) }) {
        case .success?: return all(tokens, accepted)
        case .partial?:
            guard let illegal = body?.illegalTokens, !illegal.isEmpty else {
                return all(
                    tokens,
                    .unknown(OutboundFault(.unreadable, "some tokens are illegal, and the answer does not say which")))
            }
            return tokens.map { token in illegal[token].map { .illegalToken($0) } ?? accepted }
        case nil where response.status == 200:
            return all(tokens, .unknown(OutboundFault(.unreadable, "the answer holds no result code")))
        case let code:
            return all(
                tokens,
                .rejected(
                    HMSRejection(
                        status: response.status, code: code, retryAfter: response.headers.retryAfter(),
                        words: Outbound.words(in: response.body))))
        }
    }

    private static func all(_ tokens: some Collection<[UInt8]>, _ answer: HMSAnswer) -> [HMSAnswer] {
        Array(repeating: answer, count: tokens.count)
    }

    /// Whether our token was not accepted.
    static func refusesToken(_ response: OutboundResponse) -> Bool {
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        guard let code = body?.code.map({ HMSCode($0) }) else { return response.status == 401 }
        return code == .authenticationFailed || code == .tokenExpired
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
