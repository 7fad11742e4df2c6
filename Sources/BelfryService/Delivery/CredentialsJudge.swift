import Logging
import Synchronization

/// Parks a platform, or one of its push services, when it refuses our credentials beyond doubt, and lets it run again once an
/// attempt is accepted.
struct CredentialsJudge: Sendable {
    let store: any DeliveryStore
    let clock: any WallClock
    /// How long an attempt with refused credentials may take; then another worker makes one.
    let lease: Duration
    let doubts = CredentialsDoubts()
    let logger: Logger

    typealias Place = CredentialsDoubts.Place

    /// How long a device waits while another worker tries its push service.
    private static let turnWait = Duration.seconds(60)

    // MARK: Before the send

    /// The devices that are not sent to, since their push service refuses our credentials: `held`, and nil for all others. Of a
    /// service whose time has come, one burst is sent, and the others wait for what comes of it.
    func hold(
        _ recipients: [[Recipient]], by provider: any Provider, on platform: Platform
    ) async throws -> [[Outcome?]] {
        var turns: [String: Outcome?] = [:]
        var held: [[Outcome?]] = []
        for recipients in recipients {
            var own: [Outcome?] = []
            for recipient in recipients {
                guard let service = provider.service(of: recipient.token),
                    let parking = platform.parkedServices[service]
                else {
                    own.append(nil)
                    continue
                }
                if turns[service] == nil {
                    turns[service] = .some(try await turn(service, parking, on: platform))
                }
                own.append(turns[service] ?? nil)
            }
            held.append(own)
        }
        return held
    }

    /// nil where the service is to be tried.
    private func turn(_ service: String, _ parking: Parking, on platform: Platform) async throws -> Outcome? {
        let now = clock.now
        if parking.isProbed(at: now),
            try await store.takeProbe(of: service, on: platform.key, until: now + lease)
        {
            return nil
        }
        let wait = parking.probe.map { max($0.at - now, Self.turnWait) } ?? Self.turnWait
        return .held(wait, "\(service) refuses the credentials since \(parking.since.text): \(parking.detail)")
    }

    // MARK: After it

    /// A batch that was to be an attempt with refused credentials came to nothing.
    func nothingWasSent(on platform: Platform) async {
        guard platform.parked?.cause == .credentials else { return }
        await note(.unused, of: nil, on: platform)
    }

    /// Stores a finding. A fault is logged only, as delivery goes on: the probe then lapses, and another worker tries again.
    private func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async {
        do { try await store.note(finding, of: service, on: platform) } catch is CancellationError {
            // The process ends.
        } catch {
            DeliveryMetric.fault()
            logger.error(
                "the result of credentials was not stored, and is retried",
                metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "error": "\(error)"])
        }
    }

    /// Whether there is something to judge: a refusal, or an answer to what was refused before.
    func areInQuestion(_ outcomes: [[Outcome]], on platform: Platform) -> Bool {
        platform.parked?.cause == .credentials || !platform.parkedServices.isEmpty || doubts.concern(platform.key)
            || outcomes.contains { $0.contains { $0.refusesCredentials } }
    }

    /// Returns why the platform is to be parked; nil while it is not.
    ///
    /// - Parameter burst: the recipients of each batch, and their outcomes.
    func judge(
        _ burst: [(recipients: [Recipient], outcomes: [Outcome])], by provider: any Provider, on platform: Platform
    ) async -> Settlement.ParkRequest? {
        let isProbe = platform.parked?.cause == .credentials
        var request: Settlement.ParkRequest?
        let voices = Self.voices(of: burst, provider)
        if voices.isEmpty { await nothingWasSent(on: platform) }
        for (service, voices) in voices.sorted(by: { $0.key ?? "" < $1.key ?? "" }) {
            let place = Place(platform: platform.key, service: service)
            let isAgain = service.map { platform.parkedServices[$0] != nil } ?? isProbe
            var verdict = doubts.hear(voices, at: place, isProbe: isAgain)
            // However many devices say so: a push may be for those alone.
            if let words = verdict.refusal {
                doubts.forget(place)
                let isRefused = service == nil ? await provider.refusesCredentials() ?? true : true
                verdict = isRefused ? .refused(words) : isAgain ? .accepted : .doubtful
                // A verdict that comes while this task is being cancelled says nothing.
                if Task.isCancelled { verdict = .unheard }
            }
            switch verdict {
            case .accepted:
                if isAgain { await resume(service, on: platform) }
                if isProbe, service != nil { await resume(nil, on: platform) }
            case .refused(let words):
                if let service {
                    await park(service, words, on: platform)
                } else {
                    if isProbe { DeliveryMetric.probed(isAccepted: false) }
                    request = Settlement.ParkRequest(Parking(refused: words, at: clock.now), of: platform)
                }
            case .unheard, .doubtful, .unsure: break
            }
        }
        return request
    }

    /// By push service; nil for a platform that has one for all.
    private static func voices(
        of burst: [(recipients: [Recipient], outcomes: [Outcome])], _ provider: any Provider
    ) -> [String?: CredentialsVoices] {
        var voices: [String?: CredentialsVoices] = [:]
        let unheard = CredentialsVoices(isProvenByAcceptanceAlone: provider.isProvenByAcceptanceAlone)
        for (batch, part) in burst.enumerated() {
            for (recipient, outcome) in zip(part.recipients, part.outcomes) {
                if outcome.isWithheld { continue }
                voices[provider.service(of: recipient.token), default: unheard]
                    .add(outcome, of: recipient.device, in: batch)
            }
        }
        return voices
    }

    private func resume(_ service: String?, on platform: Platform) async {
        DeliveryMetric.probed(isAccepted: true)
        await note(.accepted, of: service, on: platform)
        logger.notice(
            "credentials are accepted again",
            metadata: ["platform.uuid": "\(platform.uuid.lowercased)", "service": "\(service ?? "all")"])
    }

    private func park(_ service: String, _ words: String, on platform: Platform) async {
        let isAgain = platform.parkedServices[service] != nil
        if isAgain { DeliveryMetric.probed(isAccepted: false) }
        await note(.refused(words), of: service, on: platform)
        guard !isAgain else { return }
        logger.error(
            "a push service of a platform is parked, and tried again by itself",
            metadata: [
                "platform.uuid": "\(platform.uuid.lowercased)", "platform.name": "\(platform.name)",
                "service": "\(service)", "detail": "\(words)",
            ])
    }
}

/// The doubts about credentials that a single voice refuses, of each platform and push service that had such lately.
final class CredentialsDoubts: Sendable {
    struct Place: Hashable {
        let platform: Key<Platform>
        /// nil for the platform as a whole.
        let service: String?
    }

    private let doubts = Mutex<[Place: CredentialsDoubt]>([:])
    /// More are not remembered: their devices are tried again, and no more.
    private static let placesMax = 1_024

    func concern(_ platform: Key<Platform>) -> Bool {
        doubts.withLock { doubts in !doubts.isEmpty && doubts.keys.contains { $0.platform == platform } }
    }

    func hear(_ voices: CredentialsVoices, at place: Place, isProbe: Bool) -> CredentialsDoubt.Verdict {
        doubts.withLock { doubts in
            var doubt = doubts[place] ?? CredentialsDoubt()
            let verdict = doubt.hear(voices, isProbe: isProbe)
            let isKept = doubt != CredentialsDoubt() && verdict.isOpen
            doubts[place] = isKept && (doubts[place] != nil || doubts.count < Self.placesMax) ? doubt : nil
            return verdict
        }
    }

    func forget(_ place: Place) { doubts.withLock { $0[place] = nil } }
}

extension CredentialsDoubt.Verdict {
    /// Whether later answers may add to it.
    fileprivate var isOpen: Bool {
        switch self {
        case .unheard, .doubtful, .unsure: true
        case .accepted, .refused: false
        }
    }
}
