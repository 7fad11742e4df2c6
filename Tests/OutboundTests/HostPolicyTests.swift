import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Outbound

/// A stranger learns nothing of ports that it may not speak to.
@Suite struct HostPolicyTests {
    /// Listens on the loopback and counts who came; and has a port where nothing listens.
    private final class Listener: Sendable {
        private let accepted = Mutex(0)
        private let channel = Mutex<(any Channel)?>(nil)

        var count: Int { accepted.withLock { $0 } }

        func open() async throws -> Int {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { [weak self] channel in
                    self?.accepted.withLock { $0 += 1 }
                    return channel.eventLoop.makeSucceededVoidFuture()
                }.bind(host: "127.0.0.1", port: 0).get()
            self.channel.withLock { $0 = channel }
            return channel.localAddress?.port ?? 0
        }

        func close() async throws { try await channel.withLock { $0 }?.close() }
    }

    private func withClient(
        resolve: (@Sendable (String) async -> [SocketAddress])? = nil, _ body: (Outbound) async throws -> Void
    ) async throws {
        try await Outbound.forTest(allowed: [], hostsBy: HostPolicy(AddressGuard(), resolve: resolve), body)
    }

    /// A port of the loopback where nothing listens.
    private func closedPort() async throws -> Int {
        let listener = Listener()
        let port = try await listener.open()
        try await listener.close()
        return port
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
    func `a forbidden address is not connected to, and open ports answer as closed ones do`(host: String) async throws {
        let listener = Listener()
        let (open, closed) = (try await listener.open(), try await closedPort())
        try await withClient { outbound in
            let atOpen = await outbound.post("http://\(host):\(open)/x")
            let atClosed = await outbound.post("http://\(host):\(closed)/x")
            #expect(atOpen == atClosed)
            guard case .unprocessed(let fault) = atOpen else {
                Issue.record("\(atOpen)")
                return
            }
            #expect(fault.code == .addressRefused)
        }
        #expect(listener.count == 0)
        try await listener.close()
    }

    @Test func `a name that leads elsewhere when it is connected to is answered alike, open or closed`() async throws {
        let listener = Listener()
        let (open, closed) = (try await listener.open(), try await closedPort())
        // As if it had been public a moment before.
        let lie: @Sendable (String) async -> [SocketAddress] = { _ in
            [try? SocketAddress(ipAddress: "93.184.216.34", port: 0)].compactMap(\.self)
        }
        try await withClient(resolve: lie) { outbound in
            let atOpen = await outbound.post("http://127.0.0.1:\(open)/x")
            let atClosed = await outbound.post("http://127.0.0.1:\(closed)/x")
            #expect(atOpen == atClosed)
            guard case .unprocessed(let fault) = atOpen else {
                Issue.record("\(atOpen)")
                return
            }
            #expect(fault.code == .connect)
        }
        try await listener.close()
    }

    @Test func `one forbidden address among others is enough, and no address is no connection`() async throws {
        let addresses: [String: [String]] = ["mixed": ["93.184.216.34", "10.0.0.1"], "fine": ["93.184.216.34"]]
        let judge = HostPolicy(AddressGuard()) { host in
            (addresses[host] ?? []).compactMap { try? SocketAddress(ipAddress: $0, port: 0) }
        }
        #expect(await judge.verdict(on: "https://mixed/x") == .refused)
        #expect(await judge.verdict(on: "https://FINE:8443/x") == .permitted)
        #expect(await judge.verdict(on: "https://nobody/x") == .unresolved)
        #expect(await judge.verdict(on: "no url at all") == .unresolved)
    }

    @Test func `a verdict is remembered for a while`() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: String.self)
        let judge = HostPolicy(AddressGuard()) { host in
            ask.yield(host)
            return []
        }
        for _ in 0..<5 { _ = await judge.verdict(on: "https://example.org/x") }
        ask.finish()
        #expect(await asked.reduce(into: []) { $0.append($1) } == ["example.org"])
    }

    @Test(arguments: ["0", "65536", "99999", "4294967377", "9223372036854775807"])
    func `a port that is none makes no request and does no harm`(port: String) async throws {
        try await withClient { outbound in
            for host in ["93.184.216.34", "[2606:2800:220:1::1]"] {
                let answer = await outbound.post("https://\(host):\(port)/x", deadline: .seconds(5))
                guard case .unprocessed(let fault) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(fault.code == .url)
            }
        }
    }
}
