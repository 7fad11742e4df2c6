/// The exchange with a proxy until it has opened a connection to the target. No network, no clock.
protocol Handshake {
    /// The bytes that begin it.
    mutating func begin() -> [UInt8]
    /// Processes received bytes, in pieces of any size.
    mutating func receive(_ bytes: some Sequence<UInt8>) throws(TunnelError) -> HandshakeStep
}

enum HandshakeStep: Equatable {
    /// Wait for more bytes.
    case wait
    case send([UInt8])
    /// The connection is open; these bytes already came through it.
    case open([UInt8])
}

/// The destination of a connection.
struct Target: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let port: Int

    /// The form in `CONNECT` and `Host`.
    var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
