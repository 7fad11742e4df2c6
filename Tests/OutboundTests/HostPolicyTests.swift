import DNS
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Outbound

/// An outsider learns nothing about ports that it may not reach.
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
        names: NameResolver = NameResolver(), _ body: (Outbound) async throws -> Void
    ) async throws {
        try await Outbound.forTest(allowed: [], hostsBy: HostPolicy(AddressGuard(), names: names), body)
    }

    private static func address(_ text: String) -> [SocketAddress] {
        [try? SocketAddress(ipAddress: text, port: 0)].compactMap(\.self)
    }

    /// A port of the loopback where nothing listens.
    private func closedPort() async throws -> Int {
        let listener = Listener()
        let port = try await listener.open()
        try await listener.close()
        return port
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
    func `a forbidden address is never contacted, whatever its ports`(host: String) async throws {
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

    @Test(arguments: ["127.0.0.1", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1", "100.64.0.1"])
    func `a name rebound a moment later is not contacted`(later: String) async throws {
        let listener = Listener()
        let (open, closed) = (try await listener.open(), try await closedPort())
        var limits = NameLimits()
        limits.kept = .zero ... .zero
        for scheme in ["http", "https"] {
            for _ in 0..<6 {
                let asked = Mutex(0)
                // Public when it is judged, private ever after.
                let names = NameResolver(limits: limits) { _ in
                    Self.address(
                        asked.withLock { asked in
                            asked += 1
                            return asked == 1 ? "93.184.216.34" : later
                        })
                }
                try await withClient(names: names) { outbound in
                    let atOpen = await outbound.post("\(scheme)://rebinds.example.com:\(open)/x")
                    asked.withLock { $0 = 0 }
                    let atClosed = await outbound.post("\(scheme)://rebinds.example.com:\(closed)/x")
                    #expect(atOpen == atClosed)
                    #expect(atOpen == .unprocessed(.noConnection))
                }
            }
        }
        #expect(listener.count == 0)
        try await listener.close()
    }

    @Test func `a connection is made to the address that was judged`() async throws {
        try await ScriptedHost.run { _ in
            ScriptedHost.Answer()
        } _: { host, _ in
            let addresses = AddressGuard(allowed: ["127.0.0.0/8"].compactMap(AddressBlock.init))
            let names = NameResolver { _ in Self.address("127.0.0.1") }
            try await Outbound.forTest(hostsBy: HostPolicy(addresses, names: names)) { outbound in
                let port = host.url.split(separator: ":").last ?? ""
                guard case .response = await outbound.post("http://no.such.name.example.com:\(port)/x") else {
                    Issue.record("the name was looked up elsewhere")
                    return
                }
            }
        }
    }

    @Test func `one forbidden address is enough; none is no connection`() async throws {
        let addresses: [String: [String]] = [
            "mixed.example.com": ["93.184.216.34", "10.0.0.1"], "fine.example.com": ["93.184.216.34"],
        ]
        let judge = HostPolicy(
            AddressGuard(), names: NameResolver { host in (addresses[host] ?? []).flatMap(Self.address) })
        #expect(await judge.verdict(on: "https://mixed.example.com/x") == .refused)
        #expect(await judge.verdict(on: "https://FINE.example.com:8443/x") == .permitted)
        #expect(await judge.verdict(on: "https://nobody.example.com/x") == .unresolved(.unknown))
        for name in ["printer", "printer.local", "metadata.google.internal", "a.home.arpa", "127.1.", "0x7f.1"] {
            #expect(await judge.verdict(on: "https://\(name)/x") == .refused, "\(name)")
        }
        #expect(await judge.verdict(on: "no url at all") == .unresolved(.unknown))
    }

    @Test func `an answer is remembered for a while`() async throws {
        let asked = Mutex<[String]>([])
        let judge = HostPolicy(
            AddressGuard(),
            names: NameResolver { host in
                asked.withLock { $0.append(host) }
                return []
            })
        for _ in 0..<5 { _ = await judge.verdict(on: "https://example.org/x") }
        #expect(asked.withLock { $0 } == ["example.org"])
    }

    @Test(arguments: ["0", "65536", "99999", "4294967377", "9223372036854775807"])
    func `an invalid port makes no request and no harm`(port: String) async throws {
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
