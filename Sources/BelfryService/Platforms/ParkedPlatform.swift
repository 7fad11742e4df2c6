package import FoundationEssentials

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
