package import FoundationEssentials

/// Stores the calls that an old server has not received yet during a dual run.
package protocol MirrorStore: Sendable {
    /// Keeps the call; durable when it returns. False, and nothing is kept, where so many entries wait already.
    @discardableResult
    func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost backlogMax: Int
    ) async throws -> Bool
    /// The next entries, the oldest first.
    func mirrorEntries(limit: Int) async throws -> [MirrorEntry]
    /// Takes entries away that the old server has heard.
    func settle(_ entries: [Key<MirrorEntry>]) async throws
    /// How many entries wait.
    func mirrorBacklog() async throws -> Int
    /// Whether this node is the one that tells the old server from now until so long after; of several nodes one is.
    func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool
    /// The old server's UUID of the device; nil where it has none.
    func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID?
    /// Notes what an old server calls a device that registered here first. It goes on by the UUID of this server.
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
