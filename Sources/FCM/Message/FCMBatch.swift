/// One message and the devices it goes to.
public struct FCMBatch: Sendable {
    public let message: FCMMessage
    /// Registration tokens or Firebase Installation IDs, as the apps gave them.
    public let tokens: [[UInt8]]
    /// The JSON after each token, where it differs by device.
    let tails: [[UInt8]]?

    public init(message: FCMMessage, tokens: [[UInt8]]) {
        self.init(message: message, tokens: tokens, tails: nil)
    }

    /// - Parameter tails: one for each token, in the form of the message's own.
    package init(message: FCMMessage, tokens: [[UInt8]], tails: [[UInt8]]?) {
        self.message = message
        self.tokens = tokens
        self.tails = tails
    }
}

extension [UInt8] {
    /// Whether this is a Firebase Installation ID: 17 bytes in base64url, the first of which begins with the bits 0111.
    /// Tokens are longer.
    ///
    /// Source: the random FID generators of the Firebase Installations SDKs; firebase-admin-go#765 for `message.fid`.
    var isFCMInstallationID: Bool {
        guard count == 22, let first, UInt8(ascii: "c")...UInt8(ascii: "f") ~= first else { return false }
        return allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}
