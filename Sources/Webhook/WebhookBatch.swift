import Outbound

/// One push and its devices, in one request.
public struct WebhookBatch: Sendable {
    /// The devices.
    public struct Device: Sendable, Hashable {
        /// The id of this push's message to this device; the same when it is sent again, so that the receiver can
        /// detect a repetition.
        public let messageID: String
        /// The token as the device registered it.
        public let token: String

        public init(messageID: String, token: String) {
            self.messageID = messageID
            self.token = token
        }
    }

    public let devices: [Device]
    let body: [UInt8]

    /// - Parameters:
    ///   - push: a JSON object, sent as it is.
    public init(push: [UInt8], devices: [Device]) {
        var body = Array(#"{"push":"#.utf8)
        body += push
        body += Array(#","devices":["#.utf8)
        for (index, device) in devices.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += Array(#"{"id":"#.utf8)
            body += JSONText.quoted(device.messageID)
            body += Array(#","token":"#.utf8)
            body += JSONText.quoted(device.token)
            body.append(UInt8(ascii: "}"))
        }
        self.body = body + Array("]}".utf8)
        self.devices = devices
    }
}
