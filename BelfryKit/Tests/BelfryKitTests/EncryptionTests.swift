import BelfryAdmin
import BelfryKit
import Foundation
import MessageEncryption
import Testing

#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

/// Messages that only this device can read: its keys, and what an extension makes of a push.
@Suite struct EncryptionTests {
    /// Keys in memory, as `SecureEnclaveKeys` keeps them in the keychain.
    private struct TestKeys: MessageKeys {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = [UInt8](repeating: 5, count: 16)

        func deviceKeys() throws -> DeviceKeys {
            try DeviceKeys(publicKey: Array(key.publicKey.x963Representation), secret: secret)
        }

        func open(_ message: String) throws -> [UInt8] { try key.open(message, secret: secret) }
    }

    @Test func `a sealed push becomes its message and members`() throws {
        let keys = TestKeys()
        let text = #"""
            {"title":"Invoice","body":"12 €","link":"https://shop.example/1","image":"https://shop.example/1.png","sound":"default",
             "category":"pay","thread":"t","data":{"order":7,"receiptId":"forged"},"unknown":[1]}
            """#
        let push: [AnyHashable: Any] = [
            "aps": ["alert": ["body": "New message"]], "receiptId": "r1",
            "encrypted": try keys.deviceKeys().seal(text),
        ]
        let message = try #require(DecryptedMessage(in: push, by: keys))
        #expect(message.title == "Invoice" && message.body == "12 €" && message.sound == "default")
        #expect(message.category == "pay" && message.thread == "t")
        let merged = message.merged(into: push)
        #expect(merged["receiptId"] as? String == "r1" && merged["order"] as? Int == 7)
        #expect(merged["link"] as? String == "https://shop.example/1")
        #expect(merged["attachment_url"] as? String == "https://shop.example/1.png")
    }

    @Test(arguments: ["Hello", "[1]", "{", ""])
    func `a text that is no object is the body`(text: String) throws {
        let keys = TestKeys()
        let push: [AnyHashable: Any] = ["encrypted": try keys.deviceKeys().seal(text)]
        let message = try #require(DecryptedMessage(in: push, by: keys))
        #expect(message.body == text && message.title == nil && message.data == nil)
    }

    @Test func `a push for another device, or without a message, stays`() throws {
        let keys = TestKeys()
        let foreign = try TestKeys().deviceKeys().seal("x")
        for push in [[:], ["encrypted": ""], ["encrypted": 7], ["encrypted": foreign], ["encrypted": "AAAA"]]
            as [[AnyHashable: Any]]
        {
            #expect(DecryptedMessage(in: push, by: keys) == nil)
        }
    }

    @Test func `the app registers its keys, once`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        let keys = try TestKeys().deviceKeys()
        var wish = phone.wish()
        wish.encryptionKeys = keys
        try await app.register(wish)
        let sent = try #require(phone.server.asked.last?.member("encryption_keys") as? [String: String])
        #expect(sent == ["p256dh": keys.p256dh, "auth": keys.auth])
        let count = phone.server.asked.count
        try await (try phone.start()).register(wish)
        #expect(phone.server.asked.count == count)
    }
}
