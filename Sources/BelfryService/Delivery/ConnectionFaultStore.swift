/// The connection faults of platforms, so that the receipt of a push says what its devices wait for, whichever node is
/// asked.
package protocol ConnectionFaultStore: Sendable {
    /// Stores the fault in place of the platform's last one. Does nothing if the platform was deleted.
    func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws
    /// The last faults of the platforms on which devices of the push wait, in the order of the platforms. A fault from
    /// before the push was accepted is left out, since the push is not affected by it.
    func connectionFaults(of push: Key<Push>) async throws -> [PlatformFault]
}
