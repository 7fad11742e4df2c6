import Foundation

/// An internal port that counts who connects to it, and says nothing.
final class Listener {
    private let socket: Int32
    let port: UInt16

    init() throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 64) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isListening else { throw BelfryProcess.Failure(description: "no port can be listened on") }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }

    /// Answers the next request that comes, and closes.
    func answer(_ text: String) throws {
        let connection = try waitUntil("somebody connects") { () -> Int32? in
            let connection = accept(socket, nil, nil)
            return connection >= 0 ? connection : nil
        }
        defer { close(connection) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        _ = recv(connection, &buffer, buffer.count, 0)
        _ = send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    }

    func connections() -> Int {
        var count = 0
        while true {
            let connection = accept(socket, nil, nil)
            guard connection >= 0 else { return count }
            close(connection)
            count += 1
        }
    }
}
