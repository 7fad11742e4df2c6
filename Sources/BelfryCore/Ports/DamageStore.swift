/// Pages that cannot be read.
///
/// A claim that meets one sets it aside, so that others go on, and notes it. It is looked at again after a while, for a person
/// may have mended it by then; or a person writes it off.
package protocol DamageStore: Sendable {
    /// How many open pages are noted.
    func damagedPageCount() async throws -> Int
    /// Closes those of a push that can still not be read: an answer that was written stays where it can be read, every
    /// other device gets `skipped: damaged`. The push's counters are counted anew, so that they equal its answers.
    ///
    /// Returns how many devices got that answer.
    func writeOffDamagedPages(of push: Key<Push>) async throws -> Int
}

package enum Damage {
    /// Until a row that cannot be read is looked at again.
    package static let setAsideFor = Duration.seconds(3_600)
}
