import Foundation

/// Takes connections and says nothing.
struct SilentServer {
    let port: Int
    private let listener: Int32

    struct Trouble: Error {}

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (listener, size) = (listener, length)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 100) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw Trouble() }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// How many have called so far.
    var callerCount: Int {
        var count = 0
        var poller = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        while poll(&poller, 1, 0) > 0 {
            let caller = accept(listener, nil, nil)
            guard caller >= 0 else { break }
            _ = Foundation.close(caller)
            count += 1
        }
        return count
    }

    func close() { _ = Foundation.close(listener) }
}
