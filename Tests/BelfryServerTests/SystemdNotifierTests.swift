import Foundation
import Glibc
import Testing

@testable import BelfryServer

@Suite struct SystemdNotifierTests {
    @Test func `systemd hears of readiness and stop`() async throws {
        try await Scratch.with { scratch in
            let path = scratch.file("notify")
            let receiver = try Receiver(at: path)
            let systemdNotifier = SystemdNotifier(environment: ["NOTIFY_SOCKET": path])
            systemdNotifier.serving()
            systemdNotifier.stopping()
            #expect([receiver.next(), receiver.next(), receiver.next()] == ["READY=1", "STOPPING=1", nil])
            receiver.close()
            // Nothing listens, or nothing wants to know: it goes on.
            systemdNotifier.serving()
            SystemdNotifier(environment: [:]).serving()
            SystemdNotifier(environment: ["NOTIFY_SOCKET": String(repeating: "/x", count: 100)]).serving()
        }
    }

    /// The socket of a systemd.
    private struct Receiver {
        private let descriptor: Int32

        init(at path: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            let isBound = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
            try #require(isBound)
        }

        /// nil when nothing was said.
        func next() -> String? {
            var buffer = [UInt8](repeating: 0, count: 100)
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
        }

        func close() { _ = Glibc.close(descriptor) }
    }
}
