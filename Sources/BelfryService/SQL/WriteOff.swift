/// The result of writing off.
package struct WriteOff: Sendable, Hashable {
    /// The number of devices that became `skipped: damaged`.
    package let devices: Int
    /// The number of platforms where the rest of the audience will not be scanned.
    package let fanOuts: Int

    package static let nothing = WriteOff(devices: 0, fanOuts: 0)
}

/// The handling of unreadable rows.
package enum Damage {
    /// The time for which an unreadable row is set aside before it is retried.
    package static let setAsideFor = Duration.seconds(3_600)
}
