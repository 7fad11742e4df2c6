package import FoundationEssentials

/// An old server that is sent registrations during a dual run.
package protocol MirrorServer: Sendable {
    /// - Parameter uuid: the old server's UUID of the device; nil where it does not know the device.
    func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict
}

package enum MirrorVerdict: Sendable, Hashable {
    /// Accepted, with the old server's UUID of the device where it sent one.
    case heard(UUID?)
    /// Refused for good, with the status of the answer.
    case refused(Int)
    /// The old server did not answer, or failed.
    case unheard
}
