import Crypto
import FoundationEssentials
import KeyFiles

/// The keys that senders encrypt messages for one device with: a browser's on all platforms. Source: RFC 8291 §3.
package struct EncryptionKeys: Sendable, Hashable {
    /// An uncompressed point of P-256 in 65 bytes, then the secret in 16. Empty where an app took its keys back.
    package let bytes: [UInt8]

    /// Takes the keys of a device back.
    package static let withdrawn = EncryptionKeys(bytes: [])

    private static let pointBytes = 65
    private static let secretBytes = 16

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// nil where the device has none, or bytes that are no keys.
    init?(stored bytes: [UInt8]) {
        guard bytes.count == Self.pointBytes + Self.secretBytes else { return nil }
        self.bytes = bytes
    }

    /// Takes Base64 of either alphabet, as browsers write it. Throws where the point is not on the curve, which costs a few multiplications.
    package init(p256dh: String, auth: String, field: String = "encryption_keys") throws(InvalidInput) {
        guard let point = Base64.decode(p256dh.utf8, isExact: true), point.count == Self.pointBytes, point[0] == 4,
            (try? P256.KeyAgreement.PublicKey(x963Representation: point)) != nil
        else {
            throw InvalidInput(
                field: "\(field).p256dh", "has to be an uncompressed point of P-256, \(Self.pointBytes) bytes in Base64"
            )
        }
        guard let secret = Base64.decode(auth.utf8, isExact: true), secret.count == Self.secretBytes else {
            throw InvalidInput(field: "\(field).auth", "has to be \(Self.secretBytes) bytes in Base64")
        }
        bytes = point + secret
    }

    /// Reads `{"p256dh": "…", "auth": "…"}`, the form of a browser's subscription. `{}` takes the keys back, nil leaves them as they are.
    init?(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
        if try reader.null() { return nil }
        var (p256dh, auth): (String?, String?)
        try reader.object(field, of: ["p256dh", "auth"]) { reader, name throws(InvalidInput) in
            let text = try reader.string("\(field).\(name)")
            if name == "p256dh" { p256dh = text } else { auth = text }
        }
        if p256dh == nil, auth == nil {
            self = .withdrawn
        } else {
            try self.init(p256dh: p256dh ?? "", auth: auth ?? "", field: field)
        }
    }

    /// Reads an object, also as the JSON of one in a column of texts. nil for an empty column.
    init?(imported value: JSONValue, field: String) throws(InvalidInput) {
        let text = value.stringValue ?? value.storedText
        guard !text.isEmpty else { return nil }
        var reader = JSONReader(Array(text.utf8))
        try self.init(field, from: &reader)
    }

    package var p256dh: String { Base64.encode(bytes.prefix(Self.pointBytes)) }
    package var auth: String { Base64.encode(bytes.dropFirst(Self.pointBytes)) }

    /// In the form that apps send them.
    package var json: JSONValue { .object(["p256dh": .string(p256dh), "auth": .string(auth)]) }
}

extension PlatformKind {
    /// Whether its apps get data before anything is shown, so that they can decrypt it.
    package var takesEncryption: Bool {
        switch traits.payload {
        case .apple(let use): use == .app
        case .android: self != .fcmTopic
        case .web: self == .web
        case .windows8, .windowsPhone, .bb10, .webhook: false
        }
    }

    /// Throws where devices of the type cannot decrypt what the keys are for.
    func check(_ detail: DeviceDetail.Change) throws(InvalidInput) {
        guard let keys = detail.encryptionKeys, keys != .withdrawn, !takesEncryption else { return }
        throw InvalidInput(field: "encryption_keys", "are given, and \(noEncryption)")
    }

    var noEncryption: String {
        "the system shows messages on \(rawValue) without asking the app, which could not decrypt them"
    }
}

/// Adds the keys of devices; see `EncryptionKeys`. An empty value is none, as NULL is.
enum EncryptionKeyMigration: SchemaMigration {
    static let identifier = "0026 encryption keys of devices (additive)"

    static func run(in db: some SQLConnection) throws {
        try db.run(script: "ALTER TABLE device_detail ADD COLUMN encryption_keys \(.bytes)")
    }
}
