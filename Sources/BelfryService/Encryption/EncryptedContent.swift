package import FoundationEssentials
import KeyFiles

/// A message that its sender encrypted for each of its devices. The server has no key to it, and sees how long it is.
///
/// Source: RFC 8291 §4, the content coding aes128gcm of RFC 8188 with one record.
package struct EncryptedContent: Sendable, Hashable {
    /// The text that a device shows where it cannot decrypt; a rule of the application.
    package var alert: String
    /// The messages by device, in Base64 for URLs.
    package let messages: [UUID: String]

    /// As many fit into the content of one push with short texts; audiences are sent to page by page.
    package static let devicesMax = 100
    package static let alertByDefault = "New message"
    package static let alertBytesMax = 255
    /// The member of a payload that holds the message.
    package static let member = "encrypted"
    /// The member that tells an Android app what to show if it cannot decrypt.
    package static let alertMember = "encrypted_alert"
    /// A header with the sender's key, one byte of text or padding, its mark and a tag. Source: RFC 8188 §2.
    private static let headerBytes = 16 + 4 + 1 + 65
    private static let tagBytes = 16

    /// Reads messages by the UUIDs of their devices. Throws where one cannot be ciphertext.
    init(_ members: JSONObject, field: String = "message.encrypted") throws(InvalidInput) {
        guard 1...Self.devicesMax ~= members.count else {
            throw InvalidInput(
                field: field, "has messages for \(members.count) devices, it has to be 1 to \(Self.devicesMax)")
        }
        var messages: [UUID: String] = [:]
        for (name, value) in members {
            guard let device = UUID(text: name) else {
                throw InvalidInput(field: field, "names the device '\(name.prefix(64))', which is no UUID")
            }
            let place = "\(field).\(device.lowercased)"
            guard let bytes = value.stringValue.flatMap({ Base64.decode($0.utf8) }), Self.isCoded(bytes) else {
                throw InvalidInput(
                    field: place, "has to be a message of the coding aes128gcm by RFC 8291, as Base64")
            }
            guard messages.updateValue(Base64.encode(bytes), forKey: device) == nil else {
                throw InvalidInput(field: place, "is given twice")
            }
        }
        (alert, self.messages) = (Self.alertByDefault, messages)
    }

    /// Whether there is a header with a key of 65 bytes, and one record behind it.
    private static func isCoded(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= headerBytes + 2 + tagBytes, bytes[20] == 65, bytes[21] == 4 else { return false }
        let recordBytes = bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
        return recordBytes >= tagBytes + 2 && bytes.count - headerBytes <= recordBytes
    }

    /// Reads the stored form, which was validated before.
    init(stored members: JSONObject) {
        alert = members["alert"]?.stringValue ?? Self.alertByDefault
        var messages: [UUID: String] = [:]
        if case .object(let stored)? = members["messages"] {
            for (name, value) in stored { if let device = UUID(text: name) { messages[device] = value.stringValue } }
        }
        self.messages = messages
    }

    var stored: JSONValue { .object(["alert": .string(alert), "messages": json]) }

    /// In the form that a sender writes.
    var json: JSONValue {
        .object(
            JSONObject(messages.map { ($0.key.lowercased, .string($0.value)) }.sorted { $0.0 < $1.0 }))
    }

    var longest: String { messages.values.max { $0.utf8.count < $1.utf8.count } ?? "" }

    /// An empty one stands for the default.
    static func alert(_ text: String, field: String) throws(InvalidInput) -> String {
        text.allSatisfy(\.isWhitespace) ? "" : try text.asName(field: field, bytesMax: alertBytesMax)
    }
}

extension InvalidInput {
    static func plainText(_ field: String) -> InvalidInput {
        InvalidInput(
            field: field, "is plain text, and this application takes message.encrypted alone: it is in its settings")
    }
}

extension Store {
    /// Throws where an application takes only messages that are encrypted for each device. For what has words of a sender and is no push yet,
    /// or is one without a request.
    package func checkPlainText(_ field: String, in application: Key<Application>) async throws {
        let rules = try await self.application(application)?.deliveryRules
        if rules?.takesEncryptedOnly == true { throw InvalidInput.plainText(field) }
    }
}

extension Push.Content {
    /// The content that shows a placeholder, with the message of one device as data. Apps decrypt it before it is shown.
    func carrying(_ message: String, of encrypted: EncryptedContent) -> Push.Content {
        let data: JSONObject = [EncryptedContent.member: .string(message)]
        var content = Push.Content(
            custom: [
                "ios": .object([
                    "alert": .object(["body": .string(encrypted.alert)]), "mutable-content": .integer(1),
                    "extra": .object(data),
                ]),
                "android": .object(
                    data.merging(
                        ["priority": .string("high"), EncryptedContent.alertMember: .string(encrypted.alert)]
                    ) { own, _ in own }),
                "web": .object(data.merging(["body": .string(encrypted.alert)]) { own, _ in own }),
            ], badge: badge)
        (content.pacing, content.follows) = (pacing, follows)
        return content
    }

    /// Throws where a message has encrypted and plain parts, or goes to devices that it is not encrypted for; and where it is plain in an
    /// application that takes none such.
    func checkEncryption(for target: Target, by rules: DeliveryRules) throws(InvalidInput) {
        guard let encrypted else {
            guard rules.takesEncryptedOnly, !isOfServer else { return }
            throw InvalidInput.plainText("message")
        }
        var bare = Push.Content(badge: badge)
        (bare.encrypted, bare.pacing, bare.follows) = (encrypted, pacing, follows)
        guard bare == self else {
            throw InvalidInput(
                field: "message.encrypted", "goes with badge alone: other fields would tell what is in it")
        }
        guard pacing.reminders == nil else {
            throw InvalidInput(
                field: "reminders", "go to devices that are not known yet, and this message is encrypted")
        }
        guard follows == nil else {
            throw InvalidInput(field: "message.encrypted", "cannot be an update: retract the push and send another")
        }
        guard let devices = target.devices, target.local == nil else {
            throw InvalidInput(
                field: "target", "has to be devices, at one time: message.encrypted has a message for each of them")
        }
        if let other = devices.first(where: { encrypted.messages[$0] == nil }) {
            throw InvalidInput(
                field: "target.devices", "names \(other.lowercased), for which message.encrypted has no message")
        }
    }

    /// Whether it has no words of a sender: a retraction, or a heartbeat of the server's own.
    private var isOfServer: Bool {
        if follows?.isRetraction == true { return true }
        guard case .object(let data)? = custom["android"],
            let sentAt = data[HeartbeatPush.sentAtKey]?.wholeNumber
        else { return false }
        var plain = self
        plain.pacing = .exempt
        return plain == .heartbeat(sentAt: Instant(milliseconds: sentAt))
    }

    /// Throws where the platforms that a target names, or all there are, cannot decrypt.
    func checkEncryption(on platforms: [Platform], _ target: Target) throws(InvalidInput) {
        guard encrypted != nil else { return }
        let others = platforms.map(\.kind).filter { !$0.takesEncryption }
        guard let other = others.first, target.platforms != nil || others.count == platforms.count else { return }
        throw InvalidInput(field: "message.encrypted", "cannot be sent: \(other.noEncryption)")
    }
}
