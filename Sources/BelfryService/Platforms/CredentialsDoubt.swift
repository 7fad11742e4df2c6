/// Counts how many answers of one burst refuse our credentials, at one provider or one of its push services.
package struct CredentialsVoices: Sendable, Hashable {
    /// The devices that were sent to.
    package private(set) var devices = 0
    /// The devices whose answer was that our credentials are refused.
    package private(set) var refusals = 0
    /// Whether an answer shows that our credentials were accepted.
    package private(set) var isProven = false
    /// The provider's own words, the first of them.
    package private(set) var words: String?
    /// The sources of the first two refusals that do not repeat each other.
    private var voices: [Source] = []
    private let isProvenByAcceptanceAlone: Bool

    private enum Source: Hashable {
        case device(Key<Device>)
        /// A request, by the place of its batch.
        case request(Int)
        case shared
    }

    package init(isProvenByAcceptanceAlone: Bool = false) {
        self.isProvenByAcceptanceAlone = isProvenByAcceptanceAlone
    }

    /// - Parameter batch: the place of the device's batch in the burst.
    package mutating func add(_ outcome: Outcome, of device: Key<Device>, in batch: Int) {
        devices += 1
        switch outcome {
        case .credentialsRefused(let words, let voice, let said):
            refusals += 1
            self.words = self.words ?? words + said.afterComma
            let source: Source =
                switch voice {
                case .device: .device(device)
                case .request: .request(batch)
                case .shared: .shared
                }
            if voices.count < CredentialsDoubt.voicesMin, !voices.contains(source) { voices.append(source) }
        case .accepted, .moved: isProven = true
        case .gone, .refused: isProven = isProven || !isProvenByAcceptanceAlone && outcome.isOfProvider
        case .throttled, .failed, .unreachable, .unanswered, .held, .waiting, .skipped: break
        }
    }

    /// Whether most of the burst was refused, and nothing accepted.
    fileprivate var isRefused: Bool { !isProven && refusals * 2 > devices }
    fileprivate var isAgreed: Bool { isRefused && voices.count >= CredentialsDoubt.voicesMin }
}

/// Decides when refused credentials are believed, since one device's answer says nothing about the others.
///
/// They are believed when the answers of a burst agree: two voices at least, most of its devices, and none that was accepted; of
/// a single voice when it says so three times in succession; and in both cases only where the provider, asked without a device, does
/// not contradict it: a push may be for the few devices that are at fault.
package struct CredentialsDoubt: Sendable, Hashable {
    package static let voicesMin = 2
    package static let attemptsMin = 3

    private var attempts = 0

    package enum Verdict: Sendable, Hashable {
        /// No answer was about them.
        case unheard
        case accepted
        /// Too few answers refuse them: the devices are tried again.
        case doubtful
        /// A single voice refuses them, again and again.
        case unsure(String)
        case refused(String)

        /// The words of the refusal, where the provider is asked before it is believed.
        package var refusal: String? {
            switch self {
            case .unsure(let words), .refused(let words): words
            case .unheard, .accepted, .doubtful: nil
            }
        }
    }

    package init() {}

    /// - Parameter isProbe: whether the credentials were refused before, so that no doubt is left.
    package mutating func hear(_ voices: CredentialsVoices, isProbe: Bool = false) -> Verdict {
        guard let words = voices.words, !voices.isProven else {
            if voices.isProven { attempts = 0 }
            return voices.isProven ? .accepted : .unheard
        }
        guard voices.isRefused else { return .doubtful }
        if isProbe || voices.isAgreed { return .refused(words) }
        attempts += 1
        return attempts >= Self.attemptsMin ? .unsure(words) : .doubtful
    }
}

extension Outcome {
    /// Whether the provider said so, which it does once it has accepted our credentials.
    fileprivate var isOfProvider: Bool {
        switch self {
        case .refused(.addressNotAllowed, _), .refused(.forbidden, _): false
        case .refused(_, let said), .gone(_, let said): !said.text.isEmpty
        default: false
        }
    }
}
