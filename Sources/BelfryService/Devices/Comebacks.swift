import FoundationEssentials

/// The times when devices registered again unchanged and nothing was written.
///
/// Apps register at each start. A row whose time is recent is left as it is, and the time is kept here for the one rule that needs it exactly:
/// a provider's word that a token is dead is ignored where the device has registered since. The word is of a message in flight, and a crash
/// takes that along: it is sent again, and the new answer is newer than the registration.
struct Comebacks {
    /// Milliseconds since 1970. Devices share a place; the latest time counts, so a dead token may be found one push later, and a live
    /// device is never given up.
    private var latest: [Int64] = []

    private static let placesCount = 1 << 18
    /// The most that a row's time is behind.
    static let lagMax = Duration.seconds(3_600)

    /// Notes an active device's registration; false where its row has to be written.
    mutating func take(_ row: DeviceRow, at now: Instant) -> Bool {
        guard row.registeredAt <= now, now - row.registeredAt < Self.lagMax else { return false }
        if latest.isEmpty { latest = [Int64](repeating: 0, count: Self.placesCount) }
        latest[Self.place(of: row.key)] = now.milliseconds
        return true
    }

    /// The time of the device's last registration, or a later one.
    func lastRegistration(of row: DeviceRow) -> Instant {
        guard !latest.isEmpty else { return row.registeredAt }
        return max(row.registeredAt, Instant(milliseconds: latest[Self.place(of: row.key)]))
    }

    func party(_ row: DeviceRow) -> TokenMove.Holder {
        TokenMove.Holder(
            key: row.key, token: row.token, isActive: row.reach != .inactive, registeredAt: lastRegistration(of: row))
    }

    private static func place(of device: Key<Device>) -> Int { Int(device.rawValue & Int64(placesCount - 1)) }
}
