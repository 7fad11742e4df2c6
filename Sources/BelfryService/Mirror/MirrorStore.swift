package import FoundationEssentials

/// Stores the calls that an old server has not received yet during a dual run.
package protocol MirrorStore: Sendable {
    /// Keeps the call; durable when it returns. Returns false, and keeps nothing, where `backlogMax` entries wait already.
    @discardableResult
    func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost backlogMax: Int
    ) async throws -> Bool
    /// The next entries, the oldest first.
    func mirrorEntries(limit: Int) async throws -> [MirrorEntry]
    /// Removes entries that the old server has received.
    func settle(_ entries: [Key<MirrorEntry>]) async throws
    /// The number of waiting entries.
    func mirrorBacklog() async throws -> Int
    /// Takes or renews the lease to send to the old server; only one of several nodes gets it.
    func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool
    /// The old server's UUID of the device; nil where it has none.
    func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID?
    /// Notes the old server's UUID of a device that registered here first. The device keeps the UUID of this server.
    func noteImportedUUID(_ uuid: UUID, of device: Key<Device>, on platform: Platform) async throws
}

extension MirrorStore {
    /// Keeps the call unless `MirrorEntry.backlogMax` entries wait already.
    @discardableResult
    package func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>
    ) async throws -> Bool {
        try await mirror(call, of: device, on: platform, atMost: MirrorEntry.backlogMax)
    }
}
