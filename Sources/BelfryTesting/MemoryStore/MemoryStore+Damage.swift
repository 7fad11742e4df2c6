package import BelfryService

/// Values in memory are never damaged.
extension MemoryStore {
    package func damagedBatchCount() async throws -> Int { 0 }
    package func damagedFanOutCount() async throws -> Int { 0 }
    package func damagedPushes(limit: Int) async throws -> [PushHead] { [] }
    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff { .nothing }
}
