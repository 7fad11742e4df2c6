import Foundation
import Synchronization

/// A third-party proxy from a Debian package, as a process on a free port of the loopback.
package final class ProxyProcess: Sendable {
    package enum Make: String, Sendable, CaseIterable {
        /// HTTP, CONNECT.
        case tinyproxy
        /// SOCKS 5.
        case microsocks

        /// tinyproxy allows few characters in a password.
        package var password: String { self == .tinyproxy ? "p_ss.w-rd" : "p:ss/w%rd" }
    }

    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    package let port: Int
    private let process: pid_t
    private let folder: String

    package static let user = "belfry"

    private init(port: Int, process: pid_t, folder: String) {
        self.port = port
        self.process = process
        self.folder = folder
    }

    /// Ready for connections; accepts only ``user`` with the password of its kind.
    package static func with<Value>(
        _ make: Make, port: Int? = nil, _ body: (ProxyProcess) async throws -> Value
    ) async throws -> Value {
        let proxy = try await start(make, port: port ?? Loopback.freePort())
        do {
            let value = try await body(proxy)
            proxy.stop()
            return value
        } catch {
            proxy.stop()
            throw error
        }
    }

    /// Its log: a line for each host that it connected a client to.
    package var log: String { (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? "" }

    /// Ends it, and all connections through it.
    package func stop() {
        guard FileManager.default.fileExists(atPath: folder) else { return }
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func start(_ make: Make, port: Int) async throws -> ProxyProcess {
        let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard
            let program = ["/usr/bin", "/usr/sbin"].map({ "\($0)/\(make.rawValue)" })
                .first(where: FileManager.default.isExecutableFile)
        else { throw Missing(description: "there is no \(make.rawValue); Scripts/setup test installs it") }
        let process = try spawn(
            [program] + (try arguments(make, port: port, folder: folder)), output: "\(folder)/log")
        let proxy = ProxyProcess(port: port, process: process, folder: folder)
        for _ in 0..<1_500 {
            if Loopback.isListening(port) { return proxy }
            try await Task.sleep(for: .milliseconds(20))
        }
        defer { proxy.stop() }
        throw Missing(description: "\(make.rawValue) does not listen: \(proxy.log)")
    }

    private static func arguments(_ make: Make, port: Int, folder: String) throws -> [String] {
        switch make {
        case .microsocks: return ["-i", "127.0.0.1", "-p", "\(port)", "-u", user, "-P", make.password]
        case .tinyproxy:
            let file = "\(folder)/tinyproxy.conf"
            let settings = """
                Port \(port)
                Listen 127.0.0.1
                Timeout 60
                Allow 127.0.0.1
                BasicAuth \(user) \(make.password)
                LogLevel Connect

                """
            try settings.write(toFile: file, atomically: true, encoding: .utf8)
            return ["-d", "-c", file]
        }
    }
}

/// Ports of this machine.
package enum Loopback {
    /// A port that no process listened on a moment ago, outside the range that the system assigns by itself.
    package static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000...29_999)
            if try isFree(port) { return port }
        }
        throw POSIXError(.EADDRINUSE)
    }

    private static func isFree(_ port: Int) throws -> Bool {
        try withSocket { socket in
            var address = address(port: UInt16(clamping: port))
            return withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    package static func isListening(_ port: Int) -> Bool {
        let isListening = try? withSocket { socket in
            var address = address(port: UInt16(clamping: port))
            return withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
        return isListening ?? false
    }

    private static func withSocket<Value>(_ body: (Int32) throws -> Value) throws -> Value {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw POSIXError(.EMFILE) }
        defer { close(socket) }
        return try body(socket)
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

/// Whether a simulated process still runs. Once it is over, nothing that the process does has an effect.
package final class ProcessLifetime: Sendable {
    private let over = Mutex(false)

    package init() {}

    package var isOver: Bool { over.withLock { $0 } }

    package func end() { over.withLock { $0 = true } }
}
