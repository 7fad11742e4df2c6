import Foundation

/// All that has to survive the end of the app, in one file that is replaced as a whole.
struct StoredState: Codable, Sendable, Equatable {
    /// The device that wrote it.
    var identity: UUID
    /// The server and the platform that it is about; nil in files of earlier versions.
    var server: String?
    var platform: UUID?
    /// The registration that the app wants; nil for none.
    var wish: Registration?
    /// The registration that the server last confirmed.
    var confirmed: Registration?
    /// When it did, in milliseconds since 1970.
    var confirmedAt: Int64?
    /// The time until which the server wants to be left alone, in milliseconds since 1970.
    var heldUntil: Int64?
    /// Whether something was sent since that was not answered: the server may have done it or not.
    var isUncertain = false
    /// The UUID that the server gave.
    var device: String?
    /// A registration that was sent before the server gave a UUID, and was not answered. It may have made a device, which has to be
    /// found before the token changes.
    var unanswered: Registration?
    /// The token that the SDK of PCF had for the device; nil once this SDK has registered.
    var legacyToken: String?
    var events: [StoredEvent] = []
    /// Hashes of the events that were sent last, so that no two of them are the same to the server.
    var sentEvents: [UInt64] = []
    var messages: [PushMessage] = []
    var geofences = GeofenceList()

    init(identity: UUID) { self.identity = identity }

    /// The age, in milliseconds, from which a confirmed registration is sent again: a day. Servers take a device for seen when it registers.
    private static let confirmationAgeMax: Int64 = 86_400_000

    /// Whether the server has what the app wants, and has confirmed it lately.
    func isSettled(at now: Int64) -> Bool {
        guard wish == confirmed, !isUncertain else { return false }
        return wish == nil || confirmedAt.map { 0..<Self.confirmationAgeMax ~= now - $0 } ?? false
    }

    /// The longest that a server is left alone, in milliseconds: an hour.
    private static let holdMax: Int64 = 3_600_000

    mutating func hold(seconds: Int, from now: Int64) {
        heldUntil = now + min(Int64(seconds), Self.holdMax / 1_000) * 1_000
    }

    /// How many seconds the server still wants to be left alone; nil for none. A clock that was set back holds nothing up.
    func secondsHeld(at now: Int64) -> Int? {
        guard let left = heldUntil.map({ $0 - now }), 1...Self.holdMax ~= left else { return nil }
        return Int((left + 999) / 1_000)
    }

    /// Notes the server and the platform of the app's configuration. Others know nothing of the registration yet; it goes there with the UUID
    /// of the device, by which the server finds it on another platform of the application.
    mutating func move(to configuration: BelfryConfiguration) {
        let address = configuration.server.absoluteString
        guard server != address || platform != configuration.platform else { return }
        // Earlier versions kept what they had decrypted.
        if server == nil, wish?.encryptionKeys != nil { forgetTexts() }
        (server, platform, heldUntil) = (address, configuration.platform, nil)
        if confirmed != nil { isUncertain = true }
        geofences.askForAll()
    }

    /// Keeps no more of the pushes than that they came: what they say was for a user who has left.
    mutating func forgetTexts() {
        messages = messages.map { PushMessage(receiptID: $0.receiptID, receivedAt: $0.receivedAt) }
    }

    /// Whether a push was noted before.
    func knows(_ message: PushMessage) -> Bool { messages.contains { $0.receiptID == message.receiptID } }

    /// Creates the state of a phone that was restored from another's backup. It takes over the messages that its user has seen; the
    /// registration and the events are the other phone's.
    init(restoring old: StoredState, on identity: UUID) {
        self.identity = identity
        messages = old.messages
    }
}

/// Something that happened on this device and that the server is to count.
struct StoredEvent: Codable, Sendable, Equatable {
    var kind: Kind
    var receiptID: String?
    var geofence: Int64?
    var location: Int64?
    /// Milliseconds since 1970.
    var time: Int64
    /// The device that it is sent for.
    var device: String?
    /// Whether it may have been sent: from then on its words stay the same, so that the server knows a repetition.
    var isFixed = false

    /// A hash of all by which the server tells events apart, except the device.
    var identity: UInt64 {
        let words = "\(kind) \(receiptID ?? "") \(geofence ?? 0) \(location ?? 0) \(time)"
        // Source: Fowler, Noll and Vo, FNV-1a, 64 bits.
        return words.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    enum Kind: String, Codable, Sendable {
        case received, opened, dismissed, geofenceTriggered
    }

    /// The server's name of it. Source: the PCF Push API, "Analytics"; dismissals are Belfry's own.
    var wireType: String {
        switch kind {
        case .received: "pcf_push_event_type_push_notification_received"
        case .opened: "pcf_push_event_type_push_notification_opened"
        case .dismissed: "pcf_push_event_type_push_notification_dismissed"
        case .geofenceTriggered: "pcf_push_event_type_geofence_location_triggered"
        }
    }
}

/// Reads and replaces the file.
struct StateFile: Sendable {
    private let folder: URL
    private let file: URL

    init(in folder: URL) {
        self.folder = folder
        file = folder.appendingPathComponent("belfry.json")
    }

    /// nil where there is none. One that cannot be read is none: the server finds the device by its token.
    func read() -> StoredState? {
        (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(StoredState.self, from: $0) }
    }

    func write(_ state: StoredState) throws(BelfryError) {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            var (own, values) = (folder, URLResourceValues())
            values.isExcludedFromBackup = true
            // Where a system has no backups, nothing is to be kept out of them.
            try? own.setResourceValues(values)
            try JSONEncoder().encode(state).write(to: file, options: .atomic)
        } catch {
            throw .storage("\(error)")
        }
    }
}
