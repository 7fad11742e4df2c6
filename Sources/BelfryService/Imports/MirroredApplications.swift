package import FoundationEssentials

/// The applications whose registrations are also sent to an old server.
package enum MirroredApplications: Sendable, Hashable {
    case none, all
    case some(Set<UUID>)

    package func contains(_ application: UUID) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .some(let uuids): uuids.contains(application)
        }
    }
}
