import NIOCore

/// Requests to push to one device each, as bytes.
struct SmallPushRequests: Sendable {
    private let head: [UInt8]
    private let devices: [String]
    private static let text = String(repeating: "x", count: 120)

    /// - Parameter devices: the UUIDs of those that are told, in turn.
    init(path: String, port: Int, credentials: String, devices: [String]) {
        self.devices = devices
        head = Array(
            """
            POST \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: Basic \(credentials)\r\n\
            Content-Type: application/json\r\n
            """.utf8)
    }

    /// One in ten carries an idempotency key.
    func write(_ number: Int, to buffer: inout ByteBuffer) {
        let body = #"{"message":{"body":"\#(Self.text)"},"target":{"devices":["\#(devices[number % devices.count])"]}}"#
        buffer.writeBytes(head)
        if number.isMultiple(of: 10) { buffer.writeString("Idempotency-Key: bench-\(number)\r\n") }
        buffer.writeString("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
