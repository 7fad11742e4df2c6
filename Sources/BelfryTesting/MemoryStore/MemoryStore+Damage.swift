package import BelfryCore

/// What is kept as values is never damaged.
extension MemoryStore {
    package func damagedPageCount() async throws -> Int { 0 }
    package func damagedWalkCount() async throws -> Int { 0 }
    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff { .nothing }
}
