import BelfryCore
import BelfryProviders
import BelfryServer
import BelfrySimulators
import BelfryTesting
import Testing
import Tunnel

/// The whole server behind a real proxy.
extension ServerTests {
    @Suite struct ProxyTests {
        @Test(arguments: ProxyProcess.Make.allCases)
        func `a push waits for the proxy, and reaches every device when it is there`(
            make: ProxyProcess.Make
        ) async throws {
            let port = try Loopback.freePort()
            let login = ProxyLogin(user: ProxyProcess.user, password: make.password)
            let proxy = try Proxy(make == .tinyproxy ? .http : .socks5, host: "127.0.0.1", port: port, login: login)
            try await House.open(configure: { $0.providers.proxies = ProxyPlan(standard: .through(proxy)) }) { house in
                let crowd = try await house.crowd(40)
                let id = try await house.sender.push(#"{"message":{"body":"Hi"},"target":{"platforms":["ios"]}}"#)
                try await eventually("the trouble is told") { house.hasLogged("a proxy lets nothing through") }
                #expect(house.simulator.ledger.totals().told == 0)
                try await ProxyProcess.with(make, port: port) { process in
                    let receipt = try await house.settled(id)
                    try await house.expectAllTold(crowd, in: receipt)
                    #expect(process.log.contains("localhost:\(house.simulator.port)"))
                }
                let parked = try await house.store.platform(house.platform.platform.uuid)?.parked
                #expect(parked == nil)
            }
        }
    }
}
