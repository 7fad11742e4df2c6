import Foundation
import Synchronization

/// A name server on the loopback, by UDP, on a thread of its own: it answers as a closure says, or never.
final class NameServer: Sendable {
    /// The address for `providers.dns.servers`.
    let address: String
    private let socket: Int32
    private let state: State

    private final class State: Sendable {
        let names = Mutex<[String]>([])
        let isOver = Mutex(false)
    }

    /// The names that were asked for, in order; each twice, for both families.
    var asked: [String] { state.names.withLock { $0 } }

    /// - Parameter answer: an IPv4 address of a name, by how often it was asked for before; nil never answers.
    init(answer: @escaping @Sendable (_ name: String, _ times: Int) -> String?) throws {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw BelfryProcess.Failure(description: "no port for names") }
        self.socket = socket
        self.address = "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        let state = State()
        self.state = state
        Thread.detachNewThread {
            while !state.isOver.withLock({ $0 }) { Self.serve(socket, state, answer) }
            close(socket)
        }
    }

    deinit { state.isOver.withLock { $0 = true } }

    /// Source: RFC 1035 §4.
    private static func serve(_ socket: Int32, _ state: State, _ answer: (String, Int) -> String?) {
        var bytes = [UInt8](repeating: 0, count: 1_500)
        var peer = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &peer) { peer in
            peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(socket, &bytes, bytes.count, 0, $0, &length)
            }
        }
        guard count > 16, let (name, end) = question(bytes, count) else { return }
        let isIPv4 = bytes[end + 1] == 1
        let times = state.names.withLock { names in
            defer { names.append(name) }
            return names.count { $0 == name }
        }
        guard let text = answer(name, times) else { return }
        var found = in_addr()
        inet_pton(AF_INET, text, &found)
        var reply = Array(bytes[..<2]) + [0x81, 0x80, 0, 1, 0, isIPv4 ? 1 : 0, 0, 0, 0, 0] + bytes[12..<end + 4]
        if isIPv4 {
            reply += [0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + withUnsafeBytes(of: found.s_addr) { Array($0) }
        }
        withUnsafePointer(to: &peer) { peer in
            peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(socket, reply, reply.count, 0, $0, length)
            }
        }
    }

    /// The name that is asked for, and where it ends.
    private static func question(_ bytes: [UInt8], _ count: Int) -> (String, Int)? {
        var labels: [String] = []
        var place = 12
        while place < count, bytes[place] > 0 {
            let next = place + 1 + Int(bytes[place])
            guard next < count else { return nil }
            labels.append(String(decoding: bytes[(place + 1)..<next], as: UTF8.self).lowercased())
            place = next
        }
        return place + 5 <= count ? (labels.joined(separator: "."), place + 1) : nil
    }
}
