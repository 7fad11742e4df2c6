import Crypto
import Foundation
import KeyFiles
import Testing

@testable import MessageEncryption

/// Messages for one device, as senders write and apps read them.
@Suite struct MessageEncryptionTests {
    /// Source: RFC 8291 Appendix A.
    private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    private static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
    private static let message =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    /// Written by Python's `cryptography`, which shares no code with ours, and read by the SDK for Android too.
    private static let padded =
        "AAECAwQFBgcICQoLDA0ODwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A9NTdDWyteh8-eUpqKS8XQK25BVFm2CT9bgWajhNR7DbHW-2GYSsCB2fuxV1UvVQYphVjTYPwCKVwOKN9ajORvD7rCtNG9a7vmXKdrSfRYDnhAj7jNd8KyNS8sYuh-oDVZ-W-YlbKe1iwf4varGMmKjvNb-or9M-GPlIFPDt0pH5yKynkXgbdR0QNCtj0PuGQuNHQEEpmAK7l0rMhCfgIVzlyGk1Kb7zvTf1PlaMy5u5mRRIxuc8Nb2tw91mIY7jD8E2CYeEG1Bc6DSH78rq91ygz_h7RTl3FKhu6IZUGNwWTdsa_9eciY395yPcS6QUBulzuJHKpJa9TOjoqqP-Vue4HGlR4ikmjIQwf4r5eT1BA"
    private static let text =
        #"{"title":"Invoice 4711","body":"Paid: 12 €","link":"https://shop.example/4711","data":{"order":4711}}"#

    private static func bytes(_ text: String) -> [UInt8] { Base64.decode(text.utf8, isExact: true) ?? [] }

    private static func key() throws -> P256.KeyAgreement.PrivateKey {
        try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes(privateKey))
    }

    private static func open(_ message: String) throws -> String {
        String(decoding: try key().open(message, secret: bytes(secret)), as: UTF8.self)
    }

    @Test func `RFC 8291's example and a padded message are read`() throws {
        #expect(try Self.open(Self.message) == "When I grow up, I want to be a watermelon")
        #expect(try Self.open(Self.padded) == Self.text)
        let padded = Data(Self.bytes(Self.padded)).base64EncodedString()
        #expect(try Self.open(padded) == Self.text, "of the other alphabet")
    }

    @Test func `a sealed text comes out byte for byte`() throws {
        let keys = try DeviceKeys(p256dh: Self.publicKey, auth: Self.secret)
        let ephemeral = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let cipher = MessageCipher(
            publicKey: keys.publicKey, secret: keys.secret, ephemeral: ephemeral, salt: Array(0..<16))
        #expect(try keys.seal(Self.text, by: cipher) == Self.padded)
        #expect(keys.p256dh == Self.publicKey && keys.auth == Self.secret)
    }

    @Test(arguments: [(0, 358), (1, 358), (255, 358), (256, 614), (511, 614), (2_559, 2_662)])
    func `lengths become steps of 256 bytes`(bytes: Int, sealed: Int) throws {
        let keys = try DeviceKeys(p256dh: Self.publicKey, auth: Self.secret)
        let text = String(repeating: "x", count: bytes)
        let message = try keys.seal(text)
        #expect(Self.bytes(message).count == sealed)
        #expect(try Self.open(message) == text)
        #expect(try keys.seal(text) != message)
    }

    @Test func `a text that fits nowhere, and keys that are none`() throws {
        let keys = try DeviceKeys(p256dh: Self.publicKey, auth: Self.secret)
        #expect(throws: MessageEncryptionError.textTooLong(bytes: 2_560, limit: 2_559)) {
            try keys.seal(String(repeating: "x", count: 2_560))
        }
        let offCurve = Base64.encode([4] + [UInt8](repeating: 1, count: 64))
        for (point, secret) in [
            (offCurve, Self.secret), (Self.publicKey, "AAAA"), ("", Self.secret), ("%", Self.secret),
            (Self.secret, Self.publicKey),
        ] {
            #expect(throws: MessageEncryptionError.badKeys) { try DeviceKeys(p256dh: point, auth: secret) }
        }
    }

    @Test func `every changed byte is noticed`() throws {
        let sound = Self.bytes(Self.message)
        for place in sound.indices where !(16..<20).contains(place) {
            var changed = sound
            changed[place] ^= 1
            #expect(throws: MessageEncryptionError.unreadable, "byte \(place)") {
                try Self.key().open(Base64.encode(changed), secret: Self.bytes(Self.secret))
            }
        }
        for count in sound.indices {
            #expect(throws: MessageEncryptionError.unreadable, "\(count) bytes") {
                try Self.key().open(Base64.encode(sound[..<count]), secret: Self.bytes(Self.secret))
            }
        }
        for count in [0, 17, 57] as [UInt8] {
            var short = sound
            short.replaceSubrange(16..<20, with: [0, 0, 0, count])
            #expect(throws: MessageEncryptionError.unreadable) {
                try Self.key().open(Base64.encode(short), secret: Self.bytes(Self.secret))
            }
        }
    }

    @Test func `another device cannot read it`() throws {
        #expect(throws: MessageEncryptionError.unreadable) {
            try P256.KeyAgreement.PrivateKey().open(Self.message, secret: Self.bytes(Self.secret))
        }
        #expect(throws: MessageEncryptionError.unreadable) {
            try Self.key().open(Self.message, secret: [UInt8](repeating: 0, count: 16))
        }
    }
}
