import BelfryService
import BelfrySimulators
import BelfryTesting
import Logging
import Testing
import Tunnel

@testable import BelfryProviders

/// Real proxies, by others, between the providers and their simulators. See docs/Testing.md.
@Suite(.serialized) struct ProxyLoopbackTests {
    private static func proxy(_ make: ProxyProcess.Make, port: Int, password: String? = nil) throws -> Proxy {
        try Proxy(
            make == .tinyproxy ? .http : .socks5, host: "127.0.0.1", port: port,
            login: ProxyLogin(user: ProxyProcess.user, password: password ?? make.password))
    }

    @Test(arguments: ProxyProcess.Make.allCases, FarSide.allCases)
    func `a push goes through the proxy, and none without it`(make: ProxyProcess.Make, far: FarSide) async throws {
        try await ProxyProcess.with(make) { process in
            let plan = ProxyPlan(own: [far.family: .through(try Self.proxy(make, port: process.port))])
            try await TestProviders.run(proxies: plan) { providers in
                try await far.with(providers) { place in
                    let outcomes = await providers.send(providers.push(), to: place.tokens, by: place.provider)
                    #expect(outcomes == [.accepted, .accepted])
                    #expect(place.told() == 2)
                    #expect(
                        process.log.contains(
                            make == .tinyproxy
                                ? "localhost:\(place.port) HTTP/1.1" : "connected to localhost:\(place.port)"))
                    process.stop()
                    let without = await providers.send(providers.push(), to: place.tokens, by: place.provider)
                    #expect(without.allSatisfy { $0 != .accepted }, "\(without)")
                    #expect(place.told() == 2)
                    #expect(providers.errors == [])
                }
            }
        }
    }

    @Test(arguments: ProxyProcess.Make.allCases, FarSide.allCases)
    func `a wrong password alerts people and harms no device`(
        make: ProxyProcess.Make, far: FarSide
    ) async throws {
        try await ProxyProcess.with(make) { process in
            let wrong = try Self.proxy(make, port: process.port, password: "wrong")
            try await TestProviders.run(proxies: ProxyPlan(standard: .through(wrong))) { providers in
                try await far.with(providers) { place in
                    let outcomes = await providers.send(providers.push(), to: place.tokens, by: place.provider)
                    #expect(outcomes.count == 2 && outcomes.allSatisfy { $0.connectionFault != nil }, "\(outcomes)")
                    #expect(place.told() == 0)
                    let again = await providers.send(providers.push(), to: place.tokens, by: place.provider)
                    #expect(again == outcomes)
                    let log = try #require(providers.errors.first)
                    #expect(providers.errors.count == 1)
                    #expect(log.contains("the proxy \(wrong): it refuses user and password"), "\(log)")
                    #expect(!log.contains("wrong") && !log.contains(ProxyProcess.user), "\(log)")
                }
            }
        }
    }

    @Test(arguments: ProxyProcess.Make.allCases, [FarSide.apns, .fcm, .wns, .webhook])
    func `a test of credentials says that it is the proxy`(make: ProxyProcess.Make, far: FarSide) async throws {
        try await ProxyProcess.with(make) { process in
            let wrong = try Self.proxy(make, port: process.port, password: "wrong")
            try await TestProviders.run(proxies: ProxyPlan(standard: .through(wrong))) { providers in
                try await far.with(providers) { place in
                    let result = await CredentialsService(dependencies: providers.dependencies).test(
                        place.platform, devices: [])
                    guard case .unknown(let words) = result else {
                        Issue.record("\(result)")
                        return
                    }
                    #expect(words.hasPrefix("the proxy \(wrong): it refuses user and password"), "\(words)")
                }
            }
        }
    }

    @Test(arguments: ProxyProcess.Make.allCases, FarSide.allCases)
    func `a missing proxy warns, and its return sends everything`(
        make: ProxyProcess.Make, far: FarSide
    ) async throws {
        let port = try Loopback.freePort()
        let plan = ProxyPlan(standard: .through(try Self.proxy(make, port: port)))
        try await TestProviders.run(proxies: plan) { providers in
            try await far.with(providers) { place in
                let push = providers.push()
                let outcomes = await providers.send(push, to: place.tokens, by: place.provider)
                #expect(outcomes.count == 2 && outcomes.allSatisfy { $0.connectionFault != nil }, "\(outcomes)")
                #expect(providers.errors == [])
                #expect(providers.log.lines(atLeast: .warning).contains { $0.contains("it cannot be reached") })
                try await ProxyProcess.with(make, port: port) { _ in
                    let timeout = ContinuousClock.now + .seconds(600)
                    while place.told() < 2, .now < timeout {
                        _ = await providers.send(push, to: place.tokens, by: place.provider)
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    #expect(place.told() >= 2)
                }
            }
        }
    }

    @Test(arguments: ProxyProcess.Make.allCases)
    func `targets unreachable through the proxy are retried`(make: ProxyProcess.Make) async throws {
        try await ProxyProcess.with(make) { process in
            let plan = ProxyPlan(standard: .through(try Self.proxy(make, port: process.port)))
            try await TestProviders.run(proxies: plan) { providers in
                let nobody = try Loopback.freePort()
                let provider = try providers.provider(
                    .webhook, ["url": "https://localhost:\(nobody)/", "secret": "a secret of this test, long enough"])
                let outcomes = await providers.send(providers.push(), to: ["one"], by: provider)
                #expect(outcomes.count == 1 && outcomes[0].connectionFault != nil, "\(outcomes)")
                #expect(providers.log.lines(atLeast: .warning).contains { $0.contains("localhost:\(nobody)") })
                #expect(providers.errors == [])
            }
        }
    }

    @Test(arguments: ProxyProcess.Make.allCases)
    func `a private-address subscription never reaches the proxy`(
        make: ProxyProcess.Make
    ) async throws {
        try await ProxyProcess.with(make) { process in
            let plan = ProxyPlan(standard: .through(try Self.proxy(make, port: process.port)))
            try await TestProviders.run(allowed: [], proxies: plan) { providers in
                try await FarSide.webpush.with(providers) { place in
                    let outcomes = await providers.send(providers.push(), to: place.tokens, by: place.provider)
                    #expect(outcomes == [.refused(.addressNotAllowed), .refused(.addressNotAllowed)])
                    #expect(place.told() == 0)
                    #expect(!process.log.contains("localhost"))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `a dead endpoint is gone without asking, proxy included`(isProxied: Bool)
        async throws
    {
        // Nothing listens at the port of the proxy.
        let plan = isProxied ? ProxyPlan(standard: .through(try Proxy(url: "http://127.0.0.1:1"))) : ProxyPlan()
        try await TestProviders.run(allowed: [], proxies: plan) { providers in
            try await FarSide.webpush.with(providers) { place in
                let token = try #require(place.tokens.first)
                let endpoint = try WebSubscription(json: token.utf8).endpoint
                let tokens = ["https://permanently-removed.invalid/fcm/send/x", "https://x.onion./"].map {
                    token.replacing(endpoint, with: $0)
                }
                let outcomes = await providers.send(providers.push(), to: tokens, by: place.provider)
                let gone = Outcome.gone(since: providers.clock.now)
                #expect(outcomes == [gone, gone])
                #expect(providers.log.lines(atLeast: .warning).isEmpty)
            }
        }
    }

    @Test func `platforms with equal routes share one, others have theirs`() async throws {
        let (one, two) = (try Proxy(url: "http://127.0.0.1:1"), try Proxy(url: "socks5://127.0.0.1:1"))
        let plan = ProxyPlan(standard: .through(one), own: [.apns: .direct, .fcm: .through(two), .gcm: .through(two)])
        #expect(plan.users == [one: [.hms, .webpush, .wns, .mpns, .adm, .pap, .webhook], two: [.fcm, .gcm]])
        try await TestProviders.run(proxies: plan) { providers in
            let routes = providers.dependencies.routes
            #expect(routes.tunnel(for: .apns) == nil)
            #expect(routes.tunnel(for: .fcm)?.proxy == two)
            #expect(routes.connections(for: .fcm) === routes.connections(for: .gcm))
            #expect(routes.connections(for: .hms) !== routes.connections(for: .fcm))
            #expect(routes.connections(for: .hms) !== routes.connections(for: .apns))
        }
    }

    @Test func `repeated trouble is logged once a minute`() async throws {
        let clock = ManualClock()
        let log = CapturedLog()
        let watch = ProxyFaultReporter(clock: clock, logger: log.logger)
        let proxy = try Proxy(url: "http://user:geheim@proxy.example:3128")
        let tunnel = watch.tunnel(through: proxy)
        for _ in 0..<10 { tunnel.onFailure(TunnelError(.unreachable, "no route")) }
        tunnel.onFailure(TunnelError(.credentials, "wrong"))
        #expect(log.lines(atLeast: .warning).count == 2)
        clock.advance(by: .seconds(61))
        tunnel.onFailure(TunnelError(.unreachable, "no route"))
        #expect(log.lines(atLeast: .warning).count == 3)
        #expect(!log.lines(atLeast: .trace).joined().contains("geheim"))
        #expect(watch.trouble(with: proxy, since: clock.now)?.code == .unreachable)
        #expect(watch.trouble(with: proxy, since: clock.now + .seconds(1)) == nil)
    }
}
