import Crypto
import MessageEncryption

@testable import BelfryService

/// Whatever is registered as keys, or sent as messages, is kept in a form that reads back, or refused with a reason; and whatever a
/// device gets it opens or refuses.
func encryptedMessages(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    do throws(InvalidInput) {
        if let keys = try EncryptionKeys("keys", from: &reader), keys != .withdrawn {
            precondition(EncryptionKeys(stored: keys.bytes) == keys)
            precondition((try? DeviceKeys(p256dh: keys.p256dh, auth: keys.auth)) != nil)
        }
    } catch {
        precondition(!error.problem.isEmpty)
    }
    if case .object(let members)? = try? JSONValue(json: bytes) {
        do throws(InvalidInput) {
            let content = try EncryptedContent(members)
            guard case .object(let stored) = content.stored else { preconditionFailure("it is stored as no object") }
            precondition(EncryptedContent(stored: stored) == content)
        } catch {
            precondition(error.field.hasPrefix("message.encrypted") && !error.problem.isEmpty)
        }
    }
    do throws(MessageEncryptionError) {
        let text = try receiver.open(String(decoding: bytes, as: UTF8.self), secret: secret)
        precondition(text.count < bytes.count)
    } catch {
        precondition(error == .unreadable)
    }
}

private let receiver = P256.KeyAgreement.PrivateKey()
private let secret = [UInt8](repeating: 7, count: 16)
