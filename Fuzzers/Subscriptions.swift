import BelfryService
import WebPush

/// Whatever a device registers as its token, it is kept in a spelling that stays the same, or refused with a reason.
func subscriptions(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    for kind in PlatformKind.allCases {
        do throws(InvalidInput) {
            let token = try DeviceToken(text, for: kind)
            precondition(!token.bytes.isEmpty && token.bytes.count <= DeviceToken.bytesMax)
            guard let again = try? DeviceToken(token.text(for: kind), for: kind) else {
                preconditionFailure("a \(kind) token is not taken again")
            }
            precondition(again == token)
        } catch {
            precondition(!error.field.isEmpty && !error.problem.isEmpty)
        }
    }
    if let subscription = try? WebPushSubscription(json: bytes) {
        precondition(subscription.origin.hasPrefix("https://") && !subscription.origin.contains("@"))
        precondition(subscription.publicKey.count == 65 && subscription.authSecret.count == 16)
    }
}
