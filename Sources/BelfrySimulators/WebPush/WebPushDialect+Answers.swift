/// Formats a refusal as each of the big services does.
///
/// Sources: autopush, `docs/src/errors.md`; Apple, "Sending web push notifications in web apps and browsers"; reports
/// by users of the other services. Where a service publishes no text of its own, the answer is the bare status.
extension WebPushDialect {
    func answer(_ problem: WebPushProblem) -> ServiceAnswer {
        switch self {
        case .plain: ServiceAnswer(problem.status, reason: problem.rawValue)
        case .mozilla: mozilla(problem)
        case .google: google(problem)
        case .apple: apple(problem)
        case .microsoft: microsoft(problem)
        }
    }

    /// The answer to an accepted message.
    func accepted(id: String, ttl: Int64, location: String) -> ServiceAnswer {
        let common = [("location", location), ("ttl", "\(ttl)")]
        switch self {
        case .plain, .mozilla, .google: return ServiceAnswer(201, fields: common)
        case .apple: return ServiceAnswer(201, fields: [("apns-id", id)])
        case .microsoft:
            return ServiceAnswer(
                201,
                fields: common + [
                    ("x-wns-status", "received"), ("x-wns-notificationstatus", "received"), ("x-wns-msg-id", id),
                ])
        }
    }

    private func mozilla(_ problem: WebPushProblem) -> ServiceAnswer {
        let isRefusedSender = problem == .badVAPID || problem == .keyMismatch
        let status = isRefusedSender ? 401 : problem.status
        guard let errno = Self.errno(problem) else { return ServiceAnswer(status, reason: problem.rawValue) }
        let body =
            #"{"code":\#(status),"errno":\#(errno),"error":"\#(problem.rawValue)","message":"\#(problem.rawValue)","#
        return .json(
            status, body + #""more_info":"http://autopush.readthedocs.io/en/latest/http.html#error-codes"}"#,
            reason: problem.rawValue)
    }

    private static func errno(_ problem: WebPushProblem) -> Int? {
        switch problem {
        case .missingAuthorization, .badVAPID, .keyMismatch: 109
        case .missingTTL: 111
        case .badTTL: 112
        case .badTopic: 113
        case .badEncoding, .undecryptable: 110
        case .notFound: 102
        case .gone: 106
        case .tooLarge: 104
        case .internalError: 999
        case .badGateway: 900
        case .unavailable: 201
        case .badUrgency, .methodNotAllowed, .lengthRequired, .cachePolicyConflict, .throttled, .tooMany: nil
        }
    }

    private func google(_ problem: WebPushProblem) -> ServiceAnswer {
        let text: String? =
            switch problem {
            case .keyMismatch:
                "the VAPID credentials in the authorization header do not correspond to the credentials used to create "
                    + "the subscriptions.\n"
            case .missingAuthorization, .badVAPID: "crypto-key or authorization header had invalid format.\n"
            case .gone: "push subscription has unsubscribed or expired.\n"
            default: nil
            }
        return text.map { .text(problem.status, $0, reason: problem.rawValue) }
            ?? ServiceAnswer(problem.status, reason: problem.rawValue)
    }

    private func apple(_ problem: WebPushProblem) -> ServiceAnswer {
        let (status, word): (Int, String?) =
            switch problem {
            case .badVAPID, .missingAuthorization: (403, "BadJwtToken")
            case .keyMismatch: (400, "VapidPkHashMismatch")
            case .badUrgency: (400, "BadUrgency")
            case .gone: (410, "Unregistered")
            case .tooMany: (429, "TooManyRequests")
            default: (problem.status, nil)
            }
        guard let word else { return ServiceAnswer(status, reason: problem.rawValue) }
        return .json(status, #"{"reason":"\#(word)"}"#, reason: problem.rawValue)
    }

    private func microsoft(_ problem: WebPushProblem) -> ServiceAnswer {
        let text =
            problem == .cachePolicyConflict
            ? "Ttl value conflicts with X-WNS-Cache-Policy." : problem.rawValue
        let word = problem == .throttled ? "channelthrottled" : "dropped"
        return ServiceAnswer(
            problem.status, reason: problem.rawValue,
            fields: [("x-wns-status", word), ("x-wns-error-description", text)])
    }
}
