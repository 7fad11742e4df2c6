import Foundation
import NIOCore

/// A port that nothing listens on and that the system gives to no other process: callers are refused.
final class HeldPort: Sendable {
    private let descriptor: Int32

    /// nil when another program has taken the port.
    init?(_ address: SocketAddress) {
        descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        // Connections that were accepted on the port may be open still.
        var isShared: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        let isBound = address.withSockAddr { [descriptor] in bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
