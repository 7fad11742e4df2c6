/// What is said to a proxy, and heard from it, until it has opened a connection to the target. No network, no clock.
protocol Handshake {
    /// The bytes that begin it.
    mutating func begin() -> [UInt8]
    /// Takes in what came, in pieces of any size.
    mutating func receive(_ bytes: some Sequence<UInt8>) throws(TunnelError) -> HandshakeStep
}

enum HandshakeStep: Equatable {
    /// For more to come.
    case wait
    case send([UInt8])
    /// The connection is open; the bytes came through it already.
    case open([UInt8])
}

/// Where a connection shall lead.
struct Target: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let port: Int

    /// As `CONNECT` and `Host` have it.
    var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
