/// The result of one delivery attempt. `Settlement` applies its consequence.
package enum Outcome: Sendable, Hashable {
    /// The provider accepted the message. It may still never reach the device.
    case accepted
    /// Accepted, and the provider now knows the device by another token; the one used will be refused some day.
    case moved(to: DeviceToken)
    /// Refused for good: the same bytes would be refused again.
    case refused(Refusal, said: ProviderWords = .none)
    /// The token is dead. Devices that registered before `since` are deactivated; without it, none are.
    case gone(since: Instant?, said: ProviderWords = .none)
    /// The provider asked us to wait; `retryAfter` is its own figure, when it gave one.
    case throttled(retryAfter: Duration?, said: ProviderWords = .none)
    /// Certainly not delivered: the provider had an internal error. Retried.
    case failed(retryAfter: Duration?, said: ProviderWords = .none)
    /// Certainly not delivered: the provider could not be connected to. Retried.
    case unreachable(ConnectionFault)
    /// Sent, and no answer came. The device may have been notified.
    case unanswered
    /// The provider refuses us, not the message: key, certificate, topic. A human-readable reason. One such answer proves little: see
    /// `CredentialsDoubt`.
    case credentialsRefused(String, by: CredentialsVoice = .device, said: ProviderWords = .none)
    /// Not sent: the device's push service refused our credentials, and is tried again after this.
    case held(Duration, String)
    /// Not sent: the device has quiet hours until then.
    case waiting(until: Instant)
    /// Not sent, by a rule of the application.
    case skipped(Skip)
}

/// The number of devices that one refusal of our credentials was about.
package enum CredentialsVoice: Sendable, Hashable {
    /// The answer to one device's message.
    case device
    /// One answer to a request for many devices.
    case request
    /// One answer before any message: of a token server, or a handshake.
    case shared
}

extension Outcome {
    package var connectionFault: ConnectionFault? {
        if case .unreachable(let fault) = self { fault } else { nil }
    }

    /// Whether nothing was sent on purpose.
    var isWithheld: Bool {
        switch self {
        case .held, .waiting, .skipped: true
        default: false
        }
    }

    package var refusesCredentials: Bool {
        if case .credentialsRefused = self { true } else { false }
    }

    /// The outcome with a refusal of our credentials that was about more devices.
    package func spoken(by voice: CredentialsVoice) -> Outcome {
        if case .credentialsRefused(let words, _, let said) = self {
            .credentialsRefused(words, by: voice, said: said)
        } else {
            self
        }
    }

    /// The outcome with the provider's answer.
    ///
    /// - Parameters:
    ///   - code: its status, and its own term.
    ///   - sentence: its sentence for people, where it has one that says more than the code.
    package func saying(_ code: @autoclosure () -> String, _ sentence: String? = nil) -> Outcome {
        func words() -> String {
            guard let sentence, !sentence.isEmpty else { return code() }
            return code().hasSuffix(sentence) ? code() : "\(code()): \(sentence)"
        }
        return switch self {
        case .gone(let since, let said) where said.text.isEmpty: .gone(since: since, said: ProviderWords(words()))
        case .refused(let refusal, let said) where said.text.isEmpty: .refused(refusal, said: ProviderWords(words()))
        case .throttled(let wait, let said) where said.text.isEmpty:
            .throttled(retryAfter: wait, said: ProviderWords(words()))
        case .failed(let wait, let said) where said.text.isEmpty:
            .failed(retryAfter: wait, said: ProviderWords(words()))
        // Its code stands in the refusal.
        case .credentialsRefused(let refusal, let voice, _):
            if let sentence, !refusal.contains(sentence) {
                .credentialsRefused(refusal, by: voice, said: ProviderWords(sentence))
            } else {
                self
            }
        default: self
        }
    }

    /// Stands in the summary of a verdict that names no time.
    static let sinceUnknown = "since when is not said"

    /// The beginnings of summaries in which no provider finds fault.
    static let ownSummaries = ["accepted", "not sent: \(Skip.quietHours.words)", "not sent: \(Skip.capped.words)"]

    /// In a few words, for people.
    package var summary: String {
        switch self {
        case .accepted: "accepted"
        case .moved: "accepted, with a new token for later"
        case .refused(let refusal, let said): "refused: \(refusal)" + said.afterComma
        case .gone(let since, let said):
            "gone: the token is dead" + (since.map { " since \($0.text)" } ?? ", \(Self.sinceUnknown)")
                + said.afterComma
        case .throttled(_, let said): "the provider asked to wait" + said.afterComma
        case .failed(_, let said): "failed" + said.afterComma
        case .unreachable(let fault): "\(fault.kind.unreachable): \(fault.detail)"
        case .unanswered: "sent, and no answer came in time"
        case .credentialsRefused(let words, _, let said): "credentials refused: \(words)" + said.afterComma
        case .held(_, let words): "not sent: \(words)"
        case .waiting(let end): "not sent: quiet hours until \(end.text)"
        case .skipped(let skip): "not sent: \(skip.words)"
        }
    }
}

/// The words of a provider's answer, for people. They decide nothing: outcomes that differ in them alone are equal.
package struct ProviderWords: Sendable, Hashable {
    /// Printable ASCII.
    package let text: String

    /// It said nothing that is worth keeping.
    package static let none = ProviderWords("")

    package static let bytesMax = 200

    package init(_ text: String) {
        self.text = Self.printable(text, bytesMax: Self.bytesMax)
    }

    /// In printable ASCII; where it is longer, its beginning and three dots.
    static func printable(_ text: String, bytesMax: Int) -> String {
        let isWhole = text.utf8.count <= bytesMax
        let kept = text.utf8.prefix(isWhole ? bytesMax : bytesMax - 3)
        return String(decoding: kept.map { 0x20..<0x7F ~= $0 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
            + (isWhole ? "" : "...")
    }

    package var afterComma: String { text.isEmpty ? "" : ", \"\(text)\"" }

    package static func == (left: Self, right: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

/// The reason why a provider refused a message for good. A batch stores it in one byte: never renumber, only add.
package enum Refusal: UInt8, Sendable, Hashable, CaseIterable {
    /// Malformed, or from the other environment (development, production). Never a reason to deactivate a device.
    case badToken = 64
    case tokenOfAnotherApplication = 65
    case payloadTooLarge = 66
    case payloadEmpty = 67
    case badCollapseID = 68
    case badExpiration = 69
    case badMessageID = 70
    case badPriority = 71
    case badPushType = 72
    case duplicateHeaders = 73
    case forbidden = 74
    case badPath = 75
    case methodNotAllowed = 76
    case missingToken = 77
    /// Accepted and discarded: the device is offline and the message was not to be stored, or its user wants none.
    case dropped = 90
    /// The device's push service is at an address that is not public: see the setting `providers.addresses.allow`.
    case addressNotAllowed = 91
    /// Any other reason; the log has the provider's own text.
    case other = 127
}

/// The reason why a device was skipped.
package enum Skip: UInt8, Sendable, Hashable, CaseIterable {
    /// It unregistered, was deactivated or erased, its token died, or another registration took over the token.
    case inactive = 16
    /// Its platform was deleted after the audience was scanned.
    case missing = 17
    /// Its batch could not be read, and an operator wrote it off. It may have been notified before.
    case damaged = 18
    /// Its push was cancelled before a provider accepted it.
    case cancelled = 19
    /// The push came in its quiet hours, in which such are skipped or which end after the push does.
    case quietHours = 20
    /// Its user got as many pushes as a frequency cap allows.
    case capped = 21

    var words: String {
        switch self {
        case .quietHours: "quiet hours"
        case .capped: "a frequency cap"
        default: "\(self)"
        }
    }
}
