/// Rows that cannot be read.
///
/// A claim that meets a batch like that sets it aside, so that others go on, and notes it. A fan-out or a batch whose
/// push cannot be read is set aside as well. It is looked at again after a while, for a person may have mended it by
/// then; or a person writes it off.
package protocol DamageStore: Sendable {
    /// How many open batches are noted.
    func damagedBatchCount() async throws -> Int
    /// How many fan-outs are set aside.
    func damagedFanOutCount() async throws -> Int
    /// Closes those of a push that can still not be read: an answer that was written stays where it can be read, every
    /// other device gets `skipped: damaged`. The push's counters are counted anew, so that they equal its answers.
    ///
    /// Of a push that can itself not be read, that is all open batches, and its fan-outs end where they are.
    func writeOffDamage(of push: Key<Push>) async throws -> WriteOff
}

/// What writing off came to.
package struct WriteOff: Sendable, Hashable {
    /// How many devices got `skipped: damaged`.
    package let devices: Int
    /// On how many platforms the rest of the audience will not be looked for.
    package let fanOuts: Int

    package static let nothing = WriteOff(devices: 0, fanOuts: 0)

    package init(devices: Int, fanOuts: Int) {
        self.devices = devices
        self.fanOuts = fanOuts
    }
}

package enum Damage {
    /// Until a row that cannot be read is looked at again.
    package static let setAsideFor = Duration.seconds(3_600)
}
