package import FoundationEssentials

/// The earlier push that an update replaces, or a retraction removes, and the id under which devices show it.
///
/// Every push has such an id: its sender's collapse key, or else its receipt id. One that follows it takes over that id.
package struct FollowedPush: Sendable, Hashable {
    /// The push that the sender named.
    package let receiptID: UUID
    /// The receipt id under which devices show it where its sender gave no key: that of the first in a row of updates.
    package let shownID: UUID
    /// The keys of its sender; see `Push.Content.keys`.
    package let keys: [String: String]
    package let isRetraction: Bool
    /// Whether it is the same message once more; see `Reminders`.
    package let isReminder: Bool

    /// - Parameter content: that of the push.
    package init(_ receiptID: UUID, _ content: Push.Content, isRetraction: Bool = false, isReminder: Bool = false) {
        self.receiptID = receiptID
        shownID = content.follows?.shownID ?? receiptID
        keys = content.follows?.keys ?? content.keys
        (self.isRetraction, self.isReminder) = (isRetraction, isReminder)
    }

    /// The devices of the push that it goes to: an update those too that a rule passed over, a reminder none that still wait for the push.
    var part: SentPart { isReminder ? .reached : isRetraction ? .told : .there }

    /// The sender's key for devices of a type; nil where there is none.
    package func key(on kind: PlatformKind) -> String? { key(of: kind.keyParts) }

    private func key(of parts: [String]) -> String? {
        let key = parts.lazy.compactMap { keys[$0] }.first ?? keys[SharedFields.Name.collapseKey.rawValue]
        return key.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether each device of a type has a key of its own.
    func isKeyedByDevice(on kind: PlatformKind) -> Bool {
        key(on: kind)?.unicodeScalars.contains { $0.value == 0xFDD0 } ?? false
    }

    /// The id under which devices of a type show it.
    package func id(on kind: PlatformKind) -> String { key(on: kind) ?? shownID.lowercased }

    /// Throws where a message has a key of its own: an update keeps the id of its push.
    func check(keysOf content: Push.Content) throws(InvalidInput) {
        for (part, key) in content.keys.sorted(by: { $0.key < $1.key })
        where !key.isEmpty && self.key(of: [part]) != key {
            throw InvalidInput(
                field: Push.Content.keyFields[part] ?? "message.custom.\(part).collapse_key",
                "is not that of the push that it updates: leave it out")
        }
    }
}

extension PlatformKind {
    /// The parts of a message that may have a key for its devices alone. The first that a message has counts.
    fileprivate var keyParts: [String] {
        switch traits.payload {
        case .apple: ["apns"]
        case .android(let form): form.parts + ["android"]
        case .web: ["web"]
        case .windows8, .windowsPhone, .bb10, .webhook: []
        }
    }
}

extension Push.Content {
    /// The keys by which a later push replaces it, by the part of the message that has one; `collapse_key` is for all other platforms. An
    /// empty one says that the part has none. One that differs by device has a mark of `PayloadTemplate`.
    fileprivate var keys: [String: String] {
        let custom = isTemplate ? (try? ContentTemplate(self))?.content.custom ?? self.custom : self.custom
        var keys: [String: String] = [:]
        keys[SharedFields.Name.collapseKey.rawValue] = shared.collapseKey
        keys["apns"] = apple?.collapseID
        keys["web"] = web?.topic
        if case .object(let members)? = custom["web"] { keys["web"] = members.own("tag") ?? keys["web"] }
        for part in AndroidPart.names {
            guard case .object(let members)? = custom[part] else { continue }
            // Without a field for all, what is shown has the receipt id; see `AndroidPayload.Notice`.
            keys[part] = shared.isEmpty ? "" : members.own("collapse_key") ?? shared.collapseKey ?? ""
        }
        return keys
    }

    fileprivate static let keyFields = [
        SharedFields.Name.collapseKey.rawValue: "message.collapse_key", "apns": "message.apns.collapse_id",
        "web": "message.web.topic",
    ]
}

extension FollowedPush {
    /// The stored form.
    var stored: JSONValue {
        var members: JSONObject = [
            "receipt": .string(receiptID.lowercased), "shown": .string(shownID.lowercased),
            "keys": .object(JSONObject(keys)), "isRetraction": .bool(isRetraction),
        ]
        if isReminder { members["isReminder"] = .bool(true) }
        return .object(members)
    }

    init(stored members: JSONObject) throws(InvalidInput) {
        guard let receiptID = members["receipt"]?.stringValue.flatMap({ UUID(text: $0) }),
            let shownID = members["shown"]?.stringValue.flatMap({ UUID(text: $0) }),
            case .object(let keys)? = members["keys"]
        else { throw InvalidInput(field: "follows", "is malformed") }
        self.receiptID = receiptID
        self.shownID = shownID
        self.keys = Dictionary(keys.map { ($0.key, $0.value.stringValue ?? "") }) { $1 }
        isRetraction = members["isRetraction"] == .bool(true)
        isReminder = members["isReminder"] == .bool(true)
    }
}

extension Push {
    /// The receipt id under which devices show it where its sender gave no key.
    package var shownID: UUID { content.follows?.shownID ?? receiptID }
}

// MARK: Retractions

extension FollowedPush {
    /// The member of a payload from which an app on Android, or a worker, learns what to remove.
    package static let retractKey = "belfry.retract"
    /// The member from which an app on Android that shows its pushes by itself learns what to replace.
    package static let replaceKey = "belfry.replaces"

    /// Whether an update replaces the push on devices of a type.
    func isReplaced(_ content: Push.Content, on kind: PlatformKind) -> Bool {
        guard content.isMeant(for: kind), !isKeyedByDevice(on: kind) else { return false }
        return switch kind.traits.replacing {
        case .never: false
        case .byKey: key(on: kind) != nil
        case .always: !kind.isApple || content.apple.map { $0.type == .alert } ?? true
        }
    }

    /// Whether a retraction removes the push from devices of a type.
    func isRemoved(_ content: Push.Content, on kind: PlatformKind) -> Bool {
        if case .always = kind.traits.replacing, isReplaced(content, on: kind) { return true }
        return content.isRunningActivity && content.isMeant(for: kind) && kind.isApple
    }

    /// The message of a retraction. Nothing is shown: the SDK, the worker or the app removes what has the id.
    ///
    /// - Parameter content: that of the push.
    func retraction(of content: Push.Content, at now: Instant) throws(InvalidInput) -> Push.Content {
        func verb(_ kind: PlatformKind) -> JSONObject { ["retract": .string(id(on: kind))] }
        var retraction = Push.Content(custom: [
            "android-fcm": .object([Self.retractKey: .string(id(on: .androidFCM))]),
            "web": .object(["belfry": .object(verb(.web))]),
        ])
        if content.isRunningActivity {
            retraction.apple = try content.endOfActivity(at: now)
        } else {
            retraction.custom["ios"] = .object([
                "content-available": .bool(true), "extra": .object(["belfry": .object(verb(.ios))]),
            ])
        }
        retraction.pacing = .exempt
        retraction.follows = self
        return retraction
    }
}

extension Push.Content {
    /// Whether it is an update of a Live Activity, which an `end` takes away.
    fileprivate var isRunningActivity: Bool { apple?.type == .liveActivity && apple?.event == .update }

    /// Source: Apple, "Starting and updating Live Activities with ActivityKit push notifications", `dismissal-date`.
    fileprivate func endOfActivity(at now: Instant) throws(InvalidInput) -> ApplePush {
        let seconds = JSONValue.integer(now.milliseconds / 1_000)
        return try ApplePush(
            type: .liveActivity,
            payload: [
                "aps": .object([
                    "timestamp": seconds, "event": .string("end"), "dismissal-date": seconds,
                    "content-state": apple?.payload["aps"]?["content-state"] ?? .object([:]),
                ])
            ])
    }
}
