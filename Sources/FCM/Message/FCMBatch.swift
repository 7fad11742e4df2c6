/// One message and the devices it goes to.
public struct FCMBatch: Sendable {
    public let message: FCMMessage
    /// Registration tokens, as the apps gave them.
    public let tokens: [[UInt8]]

    public init(message: FCMMessage, tokens: [[UInt8]]) {
        self.message = message
        self.tokens = tokens
    }
}
