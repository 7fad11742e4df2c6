import Foundation

/// Calls for softphones, as a back end posts them to the mediator: how soon each phone is notified.
struct CallRow {
    let environment: BenchmarkEnvironment

    private static let appID = "org.example.phone"
    private static let calls = 250
    /// Numbers of devices that no other row has.
    private static let firstDevice = 1_200_000_000

    func measure() async throws -> [Row] {
        let directory = "\(environment.directory)/calls"
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator)
        try await open(server, directory)
        let caller = HTTPCaller(port: server.port)
        _ = try await waits(caller, Self.firstDevice + Self.calls..<Self.firstDevice + Self.calls + 10)
        let cpu = server.child.meter.cpuMilliseconds
        let waits = try await waits(caller, Self.firstDevice..<Self.firstDevice + Self.calls)
        let used = (server.child.meter.cpuMilliseconds - cpu) / Double(waits.count) * 1_000
        try await caller.close()
        try await server.stop()
        let (half, most, last) = (waits.quantile(0.5), waits.quantile(0.99), waits.max() ?? 0)
        return [
            Row(
                what: "a call for a softphone, idle server: POST → told, \(waits.count) calls",
                ours: "p50 \(half.fixed(1)), p99 \(most.fixed(1)), max \(last.fixed(1)) ms", target: "p99 ≤ 50 ms",
                isReached: most <= 50, cpu: used.fixed(0))
        ]
    }

    private func open(_ server: Server, _ directory: String) async throws {
        let keys = environment.simulator.keys
        func run(_ command: [String]) async throws -> String {
            try await Child.run(
                [environment.options.belfry] + command + ["--data-directory", "\(directory)/data"],
                log: "\(directory)/command"
            ).output
        }
        let made = try await run([
            "platform", "create", "--json", "--app", server.identity.app_uuid, "--type", "ios-voip", "--mode",
            "production", "--name", "Calls", "--apns-key", keys.keyFile, "--key-id", keys.keyID, "--team-id",
            keys.teamID, "--topic", Workload.topic, "--endpoint", "https://localhost:\(environment.simulator.port)",
            "--trust-root", keys.authorityFile,
        ])
        let platform = try JSONDecoder().decode(Server.CreatedPlatform.self, from: Data(made.utf8))
        _ = try await run([
            "acrobits", "app-id", "add", "--app", server.identity.app_uuid, "--app-id", Self.appID, "--platform",
            platform.platform_uuid,
        ])
        _ = try await run([
            "acrobits", "mediator", "enable", "--app", server.identity.app_uuid, "--allow", "127.0.0.1",
        ])
    }

    /// Milliseconds from each request to the provider.
    private func waits(_ caller: HTTPCaller, _ devices: Range<Int>) async throws -> [Double] {
        try await environment.simulator.forget()
        var waits: [Double] = []
        for device in devices {
            let sentAt = WallClock.now
            let reply = try await caller.post(
                "/pnm2/send", credentials: "",
                #"{"verb":"NotifyIncomingCall","AppId":"\#(Self.appID)","DeviceToken":"\#(Devices.hex(device))","#
                    + #""Selector":"S\#(device)","UserName":"Ada"}"#)
            guard reply.text.contains(#""code":200"#) else { throw BenchmarkFault("a call was answered \(reply.text)") }
            try await Task.sleep(for: .milliseconds(40))
            waits.append(try await toldAt(device) - sentAt)
        }
        return waits
    }

    private func toldAt(_ device: Int) async throws -> Double {
        for _ in 0..<1_000 {
            // The ledger cuts off fractions of a millisecond, which are counted against us.
            if let at = try await environment.simulator.firstTold(device) { return at + 1 }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchmarkFault("a softphone was not told within five seconds")
    }
}
