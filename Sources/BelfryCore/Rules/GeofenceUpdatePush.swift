/// When devices are told that their geofences changed, and by what push.
package enum GeofenceUpdatePush {
    /// The kinds of platform whose SDKs know geofences.
    /// Source: the `platform` that they ask for updates with, `docs/compatibility/pcf.md`.
    package static let kinds: [PlatformKind] = [.ios, .android, .androidFCM]

    /// So long nothing more may change before devices are told.
    package static let quiet: Duration = .seconds(1)
    /// And so long they wait at most while changes do not end.
    package static let window: Duration = .seconds(10)
    /// A device that was off for longer asks by itself when its app next starts.
    package static let lifetime: Duration = .seconds(86_400)
    /// How long to wait before looking again at a platform that is parked.
    package static let parkedPause: Duration = .seconds(60)

    package static func dueAt(firstChange: Instant, now: Instant) -> Instant {
        min(now + quiet, firstChange + window)
    }
}

extension Push.Content {
    /// Makes the SDK fetch its geofences, without a word to its user.
    package static let geofenceUpdate = silent(["pivotal.push.geofence_update_available": .bool(true)])
}
