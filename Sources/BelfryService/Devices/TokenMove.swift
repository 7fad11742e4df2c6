/// The consequence for a device whose provider names another token for it.
///
/// One token has one active device. If two devices are the same installation, the later registration counts, since the
/// app knows itself by that one.
package enum TokenMove: Sendable, Hashable {
    /// The device takes the token. `evicted`, which had it, loses it and becomes inactive.
    case taken(evicted: Key<Device>?)
    /// Another device has the token and is at least as new: this one becomes inactive, so that no device is notified
    /// twice.
    case superseded
    /// The device has died, or has registered with another token since it was notified.
    case stale

    /// - Parameters:
    ///   - from: the token that was used.
    ///   - holder: the device that has the new token now.
    package init(of device: Holder, from: DeviceToken, holder: Holder?) {
        guard device.isActive, device.token == from else {
            self = .stale
            return
        }
        guard let holder, holder.key != device.key else {
            self = .taken(evicted: nil)
            return
        }
        self = holder.isActive && holder.registeredAt >= device.registeredAt ? .superseded : .taken(evicted: holder.key)
    }

    /// The fields of a device that the rule reads.
    package struct Holder: Sendable, Hashable {
        package let key: Key<Device>
        package let token: DeviceToken?
        package let isActive: Bool
        package let registeredAt: Instant

        package init(key: Key<Device>, token: DeviceToken?, isActive: Bool, registeredAt: Instant) {
            self.key = key
            self.token = token
            self.isActive = isActive
            self.registeredAt = registeredAt
        }
    }
}
