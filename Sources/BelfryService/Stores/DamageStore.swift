/// Rows that cannot be read.
///
/// A claim that meets an unreadable batch sets it aside, so that others go on, and notes it. A fan-out or a batch whose
/// push cannot be read is set aside as well. It is retried after a while, in case an operator has mended it, or an
/// operator writes it off.
package protocol DamageStore: Sendable {
    /// The number of open batches that are noted as unreadable.
    func damagedBatchCount() async throws -> Int
    /// The number of fan-outs that are set aside.
    func damagedFanOutCount() async throws -> Int
    /// The pushes that have such batches or fan-outs, the newest first; only pushes whose head is readable.
    func damagedPushes(limit: Int) async throws -> [PushHead]
    /// Closes the unreadable batches of a push: readable answers stay, all other devices become `skipped: damaged`, and
    /// the counters are recomputed. If the push itself is unreadable, all its open batches are closed and its fan-outs
    /// end.
    func writeOffDamage(of push: Key<Push>) async throws -> WriteOff
}

/// The result of writing off.
package struct WriteOff: Sendable, Hashable {
    /// The number of devices that became `skipped: damaged`.
    package let devices: Int
    /// The number of platforms where the rest of the audience will not be scanned.
    package let fanOuts: Int

    package static let nothing = WriteOff(devices: 0, fanOuts: 0)

    package init(devices: Int, fanOuts: Int) {
        self.devices = devices
        self.fanOuts = fanOuts
    }
}

/// The handling of unreadable rows.
package enum Damage {
    /// The time for which an unreadable row is set aside before it is retried.
    package static let setAsideFor = Duration.seconds(3_600)
}
