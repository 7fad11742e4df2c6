import Crypto
import Foundation
import KeyFiles
import Testing

@testable import BelfryService

/// Bytes of the right form, and keys that are keys.
enum EncryptedSample {
    /// A message of so many bytes in all.
    static func message(_ bytes: Int = 358, recordBytes: UInt32 = 4_096, keyBytes: UInt8 = 65) -> String {
        let length = (0..<4).map { UInt8(truncatingIfNeeded: recordBytes >> UInt32(24 - 8 * $0)) }
        let head = [UInt8](repeating: 1, count: 16) + length + [keyBytes, 4]
        return Base64.encode((head + [UInt8](repeating: 255, count: max(0, bytes - head.count))).prefix(bytes))
    }

    static func keys() throws -> EncryptionKeys {
        try EncryptionKeys(
            p256dh: Base64.encode(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
            auth: Base64.encode([UInt8](repeating: 7, count: 16)))
    }

    static func content(
        _ messages: [UUID: String], alert: String = EncryptedContent.alertByDefault
    ) throws -> Push.Content {
        var content = Push.Content()
        content.encrypted = try EncryptedContent(
            JSONObject(messages.map { ($0.key.lowercased, .string($0.value)) }))
        content.encrypted?.alert = alert
        return content
    }
}

/// Messages that are encrypted for each of their devices: what is taken for one, and what its device gets.
@Suite struct EncryptedContentTests {
    private static let device = "30ae0661-58b1-4b9d-9d3e-4a0b8b4d9f0a"

    @Test(arguments: [
        EncryptedSample.message(103), EncryptedSample.message(keyBytes: 64), EncryptedSample.message(recordBytes: 17),
        EncryptedSample.message(recordBytes: 100), "", "%", "bm8",
    ])
    func `bytes that cannot be ciphertext are refused by device`(text: String) {
        let fault = #expect(throws: InvalidInput.self) {
            try EncryptedContent([Self.device: .string(text)])
        }
        #expect(fault?.field == "message.encrypted.\(Self.device)")
    }

    @Test func `a number, no devices, 101 devices and strangers are refused`() throws {
        let message = JSONValue.string(EncryptedSample.message())
        let many = JSONObject((0...100).map { _ in (UUID().lowercased, message) })
        for members in [[:], many, ["x": message], [Self.device: .integer(1)]] as [JSONObject] {
            #expect(throws: InvalidInput.self) { try EncryptedContent(members) }
        }
        #expect(throws: InvalidInput.self) {
            try EncryptedContent([Self.device: message, Self.device.uppercased(): message])
        }
        #expect(throws: Never.self) { try EncryptedContent([Self.device: .string(EncryptedSample.message(104))]) }
    }

    /// With the longest text for devices that cannot decrypt, and a badge.
    @Test(arguments: [PlatformKind.ios, .androidFCM, .android, .huawei, .amazon, .web])
    func `2,559 bytes of text fit on every platform`(kind: PlatformKind) throws {
        let sealed = EncryptedSample.message(86 + 2_560 + 16)
        var content = try EncryptedSample.content(
            [UUID(): sealed], alert: String(repeating: "ü", count: EncryptedContent.alertBytesMax / 2))
        content.badge = .set(9_999)
        let checked = try content.check(for: [kind], receiptID: UUID())
        #expect(checked.tooLarge.isEmpty)
        #expect(try Push.Content(stored: Array(checked.stored.utf8)) == content)
        // Amazon takes 6 KiB, more than a record has in Base64.
        guard kind != .amazon else { return }
        let large = try EncryptedSample.content([UUID(): EncryptedSample.message(3_900)])
        #expect(throws: InvalidInput.self) { try large.check(for: [kind], receiptID: UUID()) }
    }

    @Test func `each platform gets the message as its apps read it`() throws {
        let (device, receipt) = (UUID(), UUID())
        let message = EncryptedSample.message()
        let content = try EncryptedSample.content([device: message, UUID(): EncryptedSample.message(600)])
        var values = PersonalizedValues.Values()
        values.deviceUUID = device
        let own = try content.filled(with: PersonalizedValues(values))
        let ios = try JSONValue(json: try IOSPayload(own, receiptID: receipt, sentAt: .zero).bytes)
        #expect(
            ios
                == .object([
                    "aps": .object([
                        "alert": .object(["body": .string("New message")]), "mutable-content": .integer(1),
                    ]), "encrypted": .string(message), "receiptId": .string(receipt.lowercased),
                ]))
        let android = try AndroidPayload(own, kind: .androidFCM, receiptID: receipt, sentAt: .zero)
        #expect(android.isSilent && android.isHighPriority)
        #expect(
            Dictionary(uniqueKeysWithValues: android.data.texts.map { ($0.key, $0.text) }) == [
                "encrypted": message, "encrypted_alert": "New message", "priority": "high",
                "receiptId": receipt.lowercased,
            ])
        let web = try JSONValue(json: try WebPayload(own, receiptID: receipt).bytes)
        #expect(
            web
                == .object([
                    "encrypted": .string(message), "body": .string("New message"),
                    "receiptId": .string(receipt.lowercased),
                ]))
    }

    /// It was registered anew between the look-up and the send.
    @Test func `a device without a message shows the text alone`() throws {
        let content = try EncryptedSample.content([UUID(): EncryptedSample.message()])
        var values = PersonalizedValues.Values()
        values.deviceUUID = UUID()
        let own = try content.filled(with: PersonalizedValues(values))
        let ios = try JSONValue(json: try IOSPayload(own, receiptID: nil, sentAt: .zero).bytes)
        #expect(ios["encrypted"] == .string("") && ios["aps"]?["alert"]?["body"] == .string("New message"))
    }

    @Test func `an imported device is found by either of its UUIDs`() throws {
        let (own, other) = (UUID(), UUID())
        let content = try EncryptedSample.content([other: EncryptedSample.message()])
        var values = PersonalizedValues.Values()
        (values.deviceUUID, values.otherUUID) = (own, other)
        let filled = try content.filled(with: PersonalizedValues(values))
        #expect(try WebPayload(filled, receiptID: nil).bytes.count > 358)
    }

    @Test func `other fields beside the message are refused`() throws {
        let device = UUID()
        let rules = DeliveryRules()
        let target = try Target(devices: [device])
        let bare = try EncryptedSample.content([device: EncryptedSample.message()])
        #expect(throws: Never.self) { try bare.checkEncryption(for: target, by: rules) }
        var faults: [Push.Content] = []
        for change in [
            { $0.body = "x" }, { $0.custom = ["ios": .object([:])] }, { $0.language = "de" }, { $0.isTemplate = true },
            { $0.template = try? TemplateReference("x", field: "template") },
            { $0.shared = SharedFields([.title: "x"]) },
        ] as [(inout Push.Content) -> Void] {
            var content = bare
            change(&content)
            faults.append(content)
        }
        for content in faults {
            #expect(throws: InvalidInput.self) { try content.checkEncryption(for: target, by: rules) }
        }
        for other in [try Target(devices: [device, UUID()]), .everyone] {
            #expect(throws: InvalidInput.self) { try bare.checkEncryption(for: other, by: rules) }
        }
    }

    @Test func `a damaged stored message is left out`() throws {
        let text = #"{"encrypted":{"messages":{"\#(Self.device)":7,"x":"y"}}}"#
        let content = try Push.Content(stored: Array(text.utf8))
        #expect(content.encrypted?.messages == [:] && content.encrypted?.alert == "New message")
    }
}

@Suite struct EncryptionKeysTests {
    private static let point = Base64.encode(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
    private static let secret = Base64.encode([UInt8](repeating: 9, count: 16))
    private static let offCurve = Base64.encode([4] + [UInt8](repeating: 1, count: 64))
    private static let compressed = Base64.encode(
        P256.KeyAgreement.PrivateKey().publicKey.compressedRepresentation)

    private func read(_ json: String) throws(InvalidInput) -> EncryptionKeys? {
        var reader = JSONReader(Array(json.utf8))
        return try EncryptionKeys("encryption_keys", from: &reader)
    }

    @Test func `keys are read in either alphabet, and come back`() throws {
        let padded = Data(try #require(Base64.decode(Self.point.utf8))).base64EncodedString()
        for point in [Self.point, padded] {
            let keys = try #require(try read(#"{"auth":"\#(Self.secret)==","p256dh":"\#(point)"}"#))
            #expect(keys.p256dh == Self.point && keys.auth == Self.secret)
            #expect(EncryptionKeys(stored: keys.bytes) == keys && keys.bytes.count == 81)
        }
        #expect(try read("null") == nil && read("{}") == .withdrawn)
    }

    @Test(arguments: [
        (#"{"p256dh":"\#(offCurve)","auth":"\#(secret)"}"#, "encryption_keys.p256dh"),
        (#"{"p256dh":"\#(compressed)","auth":"\#(secret)"}"#, "encryption_keys.p256dh"),
        (#"{"p256dh":"","auth":"\#(secret)"}"#, "encryption_keys.p256dh"),
        (#"{"auth":"\#(secret)"}"#, "encryption_keys.p256dh"),
        (#"{"p256dh":"\#(point)AA","auth":"\#(secret)"}"#, "encryption_keys.p256dh"),
        (#"{"p256dh":"\#(point)"}"#, "encryption_keys.auth"),
        (#"{"p256dh":"\#(point)","auth":"\#(secret)AA"}"#, "encryption_keys.auth"),
        (#"{"p256dh":"\#(point)","auth":"AAAA"}"#, "encryption_keys.auth"),
        (#"{"p256dh":7}"#, "encryption_keys.p256dh"), (#"{"x":"y"}"#, "'encryption_keys.x'"),
        (#""\#(point)""#, "encryption_keys"),
    ])
    func `a wrong key is refused by its name`(json: String, field: String) {
        let fault = #expect(throws: InvalidInput.self) { try read(json) }
        #expect(fault?.field == field)
    }

    @Test(arguments: [0, 1, 80, 82, 4_096])
    func `stored bytes of another length are no keys`(count: Int) {
        #expect(EncryptionKeys(stored: [UInt8](repeating: 4, count: count)) == nil)
    }

    @Test(arguments: [PlatformKind.apple(.voip), .windows8, .bb10, .webhook])
    func `a platform whose apps cannot decrypt takes no keys`(kind: PlatformKind) throws {
        let keys = try EncryptedSample.keys()
        #expect(throws: InvalidInput.self) { try kind.check(DeviceDetail.Change(encryptionKeys: keys)) }
        #expect(throws: Never.self) { try kind.check(DeviceDetail.Change(encryptionKeys: .withdrawn)) }
    }
}
