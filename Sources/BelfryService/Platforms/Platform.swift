package import FoundationEssentials

/// One set of provider credentials of an application, and the devices reached with them.
package struct Platform: Sendable, Hashable {
    package let key: Key<Platform>
    package let uuid: UUID
    package let applicationKey: Key<Application>
    package let kind: PlatformKind
    package let mode: Mode
    package let name: String
    /// For people; empty when none was given.
    package let description: String
    /// SHA-256 of the platform secret that devices authenticate with.
    package let secretHash: [UInt8]
    /// The provider's credentials, sealed by the vault. Only the provider's adapter interprets them.
    package let credentials: Sealed
    /// Raised whenever the credentials change, so that a client built from older ones is replaced, and where a platform resumes whose
    /// devices were declared dead, so that all nodes count anew.
    package let credentialsVersion: Int64
    /// The reason why nothing is sent at present; nil while the platform works.
    package let parked: Parking?
    package let createdAt: Instant
    /// Whether devices were ever imported, so that UUIDs of another server may name some.
    package let hasImports: Bool
    /// The key and the sites for web pages that register browsers here; nil while none may.
    package let webAccess: WebAccess?
    /// The push services of a web platform that refuse our credentials; nothing is sent to their browsers, and others go on.
    package let parkedServices: [ParkedService]
    /// The facts that pages show of the credentials; nil until credentials of an older version have been examined.
    package let facts: CredentialFacts?

    /// The provider's environment that the credentials belong to.
    package enum Mode: String, Sendable, Hashable, CaseIterable {
        case development, production
    }

    package init(
        key: Key<Platform>, uuid: UUID, applicationKey: Key<Application>, kind: PlatformKind, mode: Mode, name: String,
        secretHash: [UInt8], credentials: Sealed, credentialsVersion: Int64, parked: Parking?, createdAt: Instant,
        description: String = "", hasImports: Bool = false, webAccess: WebAccess? = nil,
        parkedServices: [ParkedService] = [], facts: CredentialFacts? = nil
    ) {
        self.key = key
        self.uuid = uuid
        self.applicationKey = applicationKey
        self.kind = kind
        self.mode = mode
        self.name = name
        self.secretHash = secretHash
        self.credentials = credentials
        self.credentialsVersion = credentialsVersion
        self.parked = parked
        self.createdAt = createdAt
        self.description = description
        self.hasImports = hasImports
        self.webAccess = webAccess
        self.parkedServices = parkedServices
        self.facts = facts
    }
}

/// Changes to a platform; nil leaves a field as it is.
package struct PlatformEdit: Sendable, Hashable {
    package var name: Name?
    package var description: Description?
    package var mode: Platform.Mode?

    package var isEmpty: Bool { name == nil && description == nil && mode == nil }
}

/// The reason why no batches of a platform are sent. Refused credentials are tried again automatically; everything else
/// waits for an operator.
package struct Parking: Sendable, Hashable {
    package let cause: Cause
    /// The reason as text for the operator.
    package let detail: String
    package let since: Instant
    /// When the credentials are tried again; nil where an operator has to act.
    package let probe: Probe?

    /// The next attempt with refused credentials, made with waiting batches.
    package struct Probe: Sendable, Hashable {
        package let at: Instant
        /// The number of attempts since the platform was parked.
        package let count: Int

        /// The first attempt comes after half a minute; each wait doubles, up to a quarter of an hour.
        package static func wait(after count: Int) -> Duration {
            min(.seconds(30) * (1 << min(max(count, 0), 6)), .seconds(15 * 60))
        }

        /// The next attempt after one that was refused.
        package func refused(at now: Instant) -> Probe {
            Probe(at: now + Self.wait(after: count + 1), count: count + 1)
        }
    }

    package enum Cause: String, Sendable, Hashable, CaseIterable {
        /// The provider refuses the key, certificate or topic.
        case credentials
        /// The share of dead tokens exceeded the operator's limit.
        case deadTokens = "dead_tokens"
        /// The operator parked it.
        case `operator`
        /// No provider here delivers to platforms of this type.
        case noProvider = "no_provider"

        /// Whether new credentials resume the platform.
        package var endsWithNewCredentials: Bool { self == .credentials || self == .noProvider }
    }

    package init(cause: Cause, detail: String, since: Instant, probe: Probe? = nil) {
        self.cause = cause
        self.detail = detail
        self.since = since
        self.probe = probe
    }

    /// Refused credentials, tried again after the first wait.
    package init(refused detail: String, at now: Instant) {
        self.init(
            cause: .credentials, detail: detail, since: now,
            probe: Probe(at: now + Probe.wait(after: 0), count: 0))
    }

    /// This parking after an attempt was refused.
    package func refused(_ words: String, at now: Instant) -> Parking {
        Parking(cause: cause, detail: words, since: since, probe: probe?.refused(at: now))
    }

    /// This parking while its credentials are tried.
    package func probed(until end: Instant) -> Parking {
        Parking(cause: cause, detail: detail, since: since, probe: probe.map { Probe(at: end, count: $0.count) })
    }

    /// Whether the credentials may be tried again now.
    package func isProbed(at now: Instant) -> Bool { probe.map { $0.at <= now } ?? false }

    /// The end of a sentence about a fault after which the credentials are tried again, for people.
    ///
    /// - Parameter time: of the next attempt; nil where an operator has to act.
    package static func nextProbe(_ time: String?) -> String { time.map { ", next probe at \($0)" } ?? "" }

    /// When the credentials are tried again, for people; nil where an operator has to act.
    package func nextProbe(at now: Instant) -> String? {
        probe.map { $0.at > now ? "tried again at \($0.at.text)" : "tried again with the next push" }
    }
}

/// A platform to which nothing is sent at present, and the remedy.
package struct ParkedPlatform: Sendable, Hashable {
    package let uuid: UUID
    package let name: String
    package let parking: Parking

    package init(uuid: UUID, name: String, parking: Parking) {
        self.uuid = uuid
        self.name = name
        self.parking = parking
    }

    /// nil where the platform works.
    package init?(_ platform: Platform) {
        guard let parking = platform.parked else { return nil }
        self.init(uuid: platform.uuid, name: platform.name, parking: parking)
    }

    /// When its credentials are tried again; nil where an operator has to act.
    package func nextProbe(at now: Instant) -> String? { parking.nextProbe(at: now) }

    /// The commands that get it going again.
    package var remedy: String { parking.cause.remedy(for: uuid) }
}

extension Parking.Cause {
    fileprivate func remedy(for platform: UUID) -> String {
        let id = platform.lowercased
        return switch self {
        case .credentials:
            "belfry platform credentials \(id) gives it others; belfry platform test \(id) tries those it has; "
                + "belfry platform resume \(id) sends again at once"
        case .deadTokens:
            "belfry platform test \(id) shows whether mode and topic fit the devices; belfry platform resume \(id) sends again"
        case .operator: "belfry platform resume \(id) sends again"
        case .noProvider: "a version of Belfry that has a provider for it, then belfry platform resume \(id)"
        }
    }
}
