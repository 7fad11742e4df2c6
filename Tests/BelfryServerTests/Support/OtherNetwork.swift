import Foundation

/// A network of its own within this machine: a namespace whose loopback can lose packets.
///
/// Programs are started in it, and relays listen in it whose far ends are in the machine's own network.
final class OtherNetwork: Sendable {
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether this machine allows it: that needs root, `ip`, `nsenter`, and `iptables` with its match `statistic`.
    static let canBeMade: Bool = {
        guard let network = try? OtherNetwork() else { return false }
        defer { network.close() }
        return (try? network.lose(0.5)) != nil
    }()

    private let name = "belfry-\(UUID().uuidString.prefix(8))"

    init() throws {
        try Self.run(["ip", "netns", "add", name])
        do { try run(["ip", "link", "set", "lo", "up"]) } catch {
            close()
            throw error
        }
    }

    func close() { try? Self.run(["ip", "netns", "delete", name]) }

    /// The words that a command begins with which is to run in it.
    var entrance: [String] { ["nsenter", "--net=\(path)"] }

    /// From now on so many packets are lost, 1 for all.
    func lose(_ share: Double) throws {
        try run(["iptables", "--flush", "INPUT"])
        guard share > 0 else { return }
        let match = ["--match", "statistic", "--mode", "random", "--probability", "\(share)"]
        try run(["iptables", "--append", "INPUT"] + (share < 1 ? match : []) + ["--jump", "DROP"])
    }

    /// A socket bound to a free port of its loopback.
    func boundSocket() throws -> CInt {
        let outcome = Outcome()
        // A namespace is a thread's own.
        let thread = Thread {
            outcome.result = Result { try self.bindHere() }
            outcome.isThere.signal()
        }
        thread.start()
        outcome.isThere.wait()
        return try outcome.result.get()
    }

    private var path: String { "/run/netns/\(name)" }

    private func bindHere() throws -> CInt {
        let namespace = open(path, O_RDONLY | O_CLOEXEC)
        defer { Foundation.close(namespace) }
        // Glibc hides it from Swift. Source: setns(2).
        typealias Enter = @convention(c) (CInt, CInt) -> CInt
        guard let symbol = dlsym(nil, "setns"), unsafeBitCast(symbol, to: Enter.self)(namespace, 0) == 0 else {
            throw Refused(description: "setns: \(String(cString: strerror(errno)))")
        }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) == 0 }
        }
        guard isBound else { throw Refused(description: "bind: \(String(cString: strerror(errno)))") }
        return listener
    }

    private func run(_ words: [String]) throws { try Self.run(entrance + words) }

    private static func run(_ words: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Refused(description: words.joined(separator: " ")) }
    }

    /// Written by the thread, and read once it has said so.
    private final class Outcome: @unchecked Sendable {
        // SAFETY: see above.
        var result: Result<CInt, any Error> = .failure(Refused(description: "no answer came"))
        let isThere = DispatchSemaphore(value: 0)
    }
}
