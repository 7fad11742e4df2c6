/// The connection faults of platforms, so that the receipt of a push says what its devices wait for, whichever node is asked.
package protocol ConnectionFaultStore: Sendable {
    /// Keeps the fault in the place of the platform's last one. Does nothing for a platform that is gone.
    func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws
    /// The last faults of the platforms where devices of the push wait, in the order of the platforms. A fault from before the
    /// push was accepted is left out: it has nothing to do with the push.
    func connectionFaults(of push: Key<Push>) async throws -> [PlatformFault]
}
