/// A push as it was sent to one of its devices.
package struct DeviceMessage: Sendable, Hashable {
    package let push: Push
    /// The number that it showed on the app's icon; nil unless it counted.
    package let badge: Int64?

    package init(push: Push, badge: Int64?) {
        self.push = push
        self.badge = badge
    }

    /// The most of an application's newest pushes that are searched for those of a device.
    package static let lookedThroughMax = 1_000
    /// The most messages that a device gets at once.
    package static let countMax = 20
    /// The answers of a device that may have been notified.
    package static let told: Set<Answer> = [.accepted, .pending, .unknown]
}
