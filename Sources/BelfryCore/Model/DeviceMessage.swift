/// A push as one of its devices was sent it.
package struct DeviceMessage: Sendable, Hashable {
    package let push: Push
    /// The number that it showed on the app's icon, where it counted.
    package let badge: Int64?

    package init(push: Push, badge: Int64?) {
        self.push = push
        self.badge = badge
    }

    /// How many of an application's newest pushes are looked through for those of a device.
    package static let lookedThroughMax = 1_000
    /// How many a device gets at once.
    package static let countMax = 20
    /// Answers of a device that may have been told.
    package static let told: Set<Answer> = [.accepted, .pending, .unknown]
}
