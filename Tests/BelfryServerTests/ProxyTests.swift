import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Testing
import Tunnel

/// The whole server behind a real proxy.
extension OutageTests {
    @Suite struct ProxyTests {
        @Test(arguments: ProxyProcess.Make.allCases)
        func `a push waits for the proxy and reaches every device`(
            make: ProxyProcess.Make
        ) async throws {
            let port = try Loopback.freePort()
            let login = ProxyLogin(user: ProxyProcess.user, password: make.password)
            let proxy = try Proxy(make == .tinyproxy ? .http : .socks5, host: "127.0.0.1", port: port, login: login)
            try await TestServer.open(configure: { $0.providers.proxies = ProxyPlan(standard: .through(proxy)) }) {
                server in
                let crowd = try await server.crowd(40)
                let id = try await server.sender.push(#"{"message":{"body":"Hi"},"target":{"platforms":["ios"]}}"#)
                try await eventually("the trouble is told") { server.hasLogged("a proxy lets nothing through") }
                #expect(server.simulator.ledger.totals().told == 0)
                try await ProxyProcess.with(make, port: port) { process in
                    let receipt = try await server.settled(id)
                    try await server.expectAllTold(crowd, in: receipt)
                    #expect(process.log.contains("localhost:\(server.simulator.port)"))
                }
                let parked = try await server.store.platform(server.platform.platform.uuid)?.parked
                #expect(parked == nil)
            }
        }
    }
}
