import NIOCore

/// Requests of small pushes, as bytes.
struct SmallPushRequests: Sendable {
    private let head: [UInt8]
    private let targets: [String]
    private static let text = String(repeating: "x", count: 120)

    /// - Parameter targets: the JSON of the targets, used in turn.
    init(path: String, port: Int, credentials: String, targets: [String]) {
        self.targets = targets
        head = Array(
            """
            POST \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: Basic \(credentials)\r\n\
            Content-Type: application/json\r\n
            """.utf8)
    }

    /// One in ten carries an idempotency key.
    func write(_ number: Int, to buffer: inout ByteBuffer) {
        let body = #"{"message":{"body":"\#(Self.text)"},"target":\#(targets[number % targets.count])}"#
        buffer.writeBytes(head)
        if number.isMultiple(of: 10) { buffer.writeString("Idempotency-Key: bench-\(number)\r\n") }
        buffer.writeString("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
