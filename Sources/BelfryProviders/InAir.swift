import Synchronization

/// Counts the devices that a provider is being told about, so that no more are claimed than it should have.
final class InAir: Sendable {
    private let count = Mutex(0)
    private let max: Int

    init(max: Int) { self.max = max }

    var room: Int { Swift.max(0, max - count.withLock { $0 }) }

    func holding<Value: Sendable>(_ devices: Int, _ work: () async -> Value) async -> Value {
        count.withLock { $0 += devices }
        defer { count.withLock { $0 -= devices } }
        return await work()
    }
}
