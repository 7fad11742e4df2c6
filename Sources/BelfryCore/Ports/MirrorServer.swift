package import FoundationEssentials

/// An old server that hears of registrations during a dual run.
package protocol MirrorServer: Sendable {
    /// - Parameter uuid: what it calls the device; nil where it has not heard of it.
    func tell(_ call: MirrorCall, of uuid: UUID?, on platform: Platform) async -> MirrorVerdict
}

package enum MirrorVerdict: Sendable, Hashable {
    /// With what it calls the device, where it said so.
    case heard(UUID?)
    /// It will never take it: the status it answered.
    case refused(Int)
    /// It did not answer, or has trouble of its own.
    case unheard
}
