import BelfrySimulators
import Foundation
import Testing

/// `belfry simulate` as a person uses it: started, stopped and started again, with what it prints.
@Suite struct SimulateCommandTests {
    @Test(arguments: [
        ("apns", ["--key-out", "key.p8", "--ca-out", "ca.pem"]),
        ("fcm", ["--credentials-out", "account.json", "--ca-out", "ca.pem"]),
        ("hms", ["--credentials-out", "account.json", "--ca-out", "ca.pem"]),
    ])
    func `the printed command makes a platform that survives restart`(
        provider: String, options: [String]
    ) async throws {
        try await TestInstallation.with { installation in
            let scratch = installation.scratch
            let options = options.map { $0.hasPrefix("--") ? $0 : scratch.file("simulated-\($0)") }
            var port = "0"
            var platform: String?
            var authorities: Set<String> = []
            for start in 1...2 {
                let printed = scratch.file("printed-\(start)")
                let simulator = try Program.start(
                    ["simulate", provider, "--port", port] + options, [:], printingTo: printed,
                    log: scratch.file("simulator-log-\(start)"))
                defer { simulator.endAtOnce() }
                let text = try await eventually("the simulator prints its command") {
                    let text = try String(contentsOfFile: printed, encoding: .utf8)
                    return text.contains(#/\ncreate [^\n]+\n/#) ? text : nil
                }
                authorities.insert(try String(contentsOfFile: options[3], encoding: .utf8))
                port = try #require(text.firstMatch(of: #/port (\d+)\n/#).map { String($0.1) })
                if platform == nil {
                    let line = try #require(text.firstMatch(of: #/\ncreate belfry ([^\n]+)\n/#).map { String($0.1) })
                    let words = line.replacing("$APP", with: installation.application).split(separator: " ").map {
                        String($0)
                    }
                    platform = try TestInstallation.CreatedPlatform(try await installation.run(words + ["--json"]))
                        .platform_uuid
                }
                let works = try await installation.run("platform", "test", platform ?? "")
                #expect(works.status == 0 && works.out == "works\n", "\(works)")
                try await simulator.end(SIGTERM)
            }
            #expect(authorities.count == 1)
            for secret in [options[1], options[3] + ".key"] {
                let mode = try FileManager.default.attributesOfItem(atPath: secret)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(secret)")
            }
        }
    }

    @Test(arguments: [
        ("webhook", "--port", "65536"), ("webhook", "--control-port", "65536"), ("webhook", "--latency", "-1"),
        ("webpush", "--subscriptions", "-1"),
    ])
    func `a number that cannot be meant is refused`(provider: String, option: String, value: String) async throws {
        try await TestInstallation.with { installation in
            let ended = try await Program.run(
                ["simulate", provider, "\(option)=\(value)"], in: installation.scratch, within: .seconds(60))
            #expect(ended.status == 64 && ended.err.contains(option), "\(ended)")
        }
    }

    @Test(arguments: ["--port", "--control-port"])
    func `a port in use is named`(option: String) async throws {
        try await TestInstallation.with { installation in
            let port = "\(installation.simulator.port)"
            let ended = try await Program.run(
                ["simulate", "webhook", option, port], in: installation.scratch, within: .seconds(60))
            #expect(ended.status != 0 && ended.err.contains("cannot listen on port \(port): "), "\(ended)")
        }
    }
}
