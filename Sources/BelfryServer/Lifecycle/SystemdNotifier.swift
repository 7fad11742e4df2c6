import Foundation

/// Tells systemd when the server is ready and when it stops (`Type=notify`).
///
/// Source: sd_notify(3): a datagram of `NAME=value` to the socket that `NOTIFY_SOCKET` names, `@` for an abstract one.
struct SystemdNotifier: Sendable {
    private let address: String?

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        address = environment["NOTIFY_SOCKET"]
    }

    func serving() { tell("READY=1") }
    func stopping() { tell("STOPPING=1") }

    /// Does nothing without a service manager, or when it cannot be reached.
    private func tell(_ words: String) {
        guard let address, var path = sockaddr_un(path: address) else { return }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.utf8.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(words.utf8)
        withUnsafePointer(to: &path) { path in
            path.withMemoryRebound(to: sockaddr.self, capacity: 1) { path in
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), path, length)
            }
        }
    }
}

extension sockaddr_un {
    /// nil when the path does not fit.
    fileprivate init?(path address: String) {
        var bytes = Array(address.utf8)
        guard bytes.count < MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size,
            bytes.first == 0x2F || bytes.first == 0x40
        else { return nil }
        if bytes.first == 0x40 { bytes[0] = 0 }
        self.init()
        sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &sun_path) { $0.copyBytes(from: bytes) }
    }
}
