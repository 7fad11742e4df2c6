package import FoundationEssentials

/// A device as another server knew it.
package struct DeviceImport: Sendable, Hashable {
    /// Topics and a custom user id that the other server does not say are kept. Its details are kept where none are kept yet.
    package let registration: Registration
    /// The UUID that the other server gave the device; nil where that server gave none.
    package let uuid: UUID?
    package var isActive = true
    /// When the other server last heard from the device. An older verdict of a provider does not count; `zero` lets any verdict count.
    package var lastSeenAt = Instant.zero

    /// The most devices that are written in one step.
    package static let perWrite = 64

    /// The topics and labels that it needs.
    var topicNames: Set<String> { registration.topics.wanted.union(registration.labels.names) }

    /// The custom user id of the row; nil where it has none.
    var user: String? { if case .set(let id) = registration.customUserID { id } else { nil } }

    /// The import for a device that is there. One that is inactive stays so until its app registers: the app unregistered it, a
    /// provider called its token dead, or an earlier list had it inactive. A device without a token lost it to another device alone.
    func updating(_ row: DeviceRow) -> DeviceImport {
        guard row.reach == .inactive, row.token != nil else { return self }
        return DeviceImport(registration: registration, uuid: uuid, isActive: false, lastSeenAt: lastSeenAt)
    }
}

package enum ImportVerdict: Sendable, Hashable {
    /// It was not there.
    case new
    /// It had been imported before, and is now as this import says.
    case updated
    /// It is there already: imported as it is, or registered by its app, which knows better.
    case duplicate
    /// Nothing was written. The words say why.
    case refused(String)

    package var name: String {
        switch self {
        case .new: "new"
        case .updated: "updated"
        case .duplicate: "duplicate"
        case .refused: "refused"
        }
    }

    var reason: String? { if case .refused(let words) = self { words } else { nil } }
}

/// Marks a device as imported from another server, with its state since.
package struct ImportMark: Sendable, Hashable {
    /// The UUID that the other server gave the device. It leads to the device for ever, since apps repeat it for ever.
    package var uuid: UUID?
    package let importedAt: Instant
    package var stage = State.unseen

    package enum State: Int64, Sendable, Hashable, CaseIterable {
        /// Its app has not registered here yet.
        case unseen = 0
        /// Its app has registered here, and may go by the UUID of the other server.
        case seen = 1
        /// Its app goes by the UUID that this server gave.
        case renamed = 2
        /// Its app has not registered here for so long that it was deactivated.
        case retired = 3
    }

    /// Notes a registration by the app.
    ///
    /// - Parameter isByOwnUUID: whether the app named the device by the UUID that this server gave.
    package mutating func noteRegistration(isByOwnUUID: Bool) {
        if isByOwnUUID { stage = .renamed } else if stage == .unseen || stage == .retired { stage = .seen }
    }

    /// The UUID that the device is known by outside: the old one until its app takes the new one.
    package func name(own: UUID) -> UUID { stage == .renamed ? own : uuid ?? own }
}
