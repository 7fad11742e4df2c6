/// The push that notifies devices of changed geofences, and its timing.
package enum GeofenceUpdatePush {
    /// The types of platform whose SDKs know geofences.
    /// Source: the `platform` that they ask for updates with, `docs/compatibility/pcf.md`.
    package static let kinds: [PlatformKind] = [.ios, .android, .androidFCM]

    /// The pause in changes after which devices are notified.
    package static let quiet: Duration = .seconds(1)
    /// The longest such delay.
    package static let window: Duration = .seconds(10)
    /// A device that was off for longer fetches its geofences when its app next starts.
    package static let lifetime: Duration = .seconds(86_400)
    /// The wait before a parked platform is checked again.
    package static let parkedPause: Duration = .seconds(60)

    package static func dueAt(firstChange: Instant, now: Instant) -> Instant {
        min(now + quiet, firstChange + window)
    }
}

extension Push.Content {
    /// Makes the SDK fetch its geofences; its user sees nothing.
    package static let geofenceUpdate = silent(["pivotal.push.geofence_update_available": .bool(true)])
}
