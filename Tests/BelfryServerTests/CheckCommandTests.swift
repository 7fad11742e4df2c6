import BelfryServer
import Foundation
import Testing

/// The lines of `belfry check` beside faults.
extension CommandTests {
    @Suite struct CheckCommandTests {}
}

extension CommandTests.CheckCommandTests {
    @Test func `a sound configuration says what it found`() async throws {
        try await Scratch.with { scratch in
            let file = try scratch.write(#"{"http.port": 18080, "management.port": 18080}"#, to: "belfry.json")
            let ended = try await Program.run(
                ["check", "--config", file, "--data-directory", scratch.file("data")],
                [
                    "BELFRY_PORT": "tcp://10.0.0.1:80", "BELFRY_SERVICE_HOST": "10.0.0.1",
                    "BELFRY_PORT_8080_TCP": "tcp://10.0.0.1:8080", "BELFRY_HTTP_HOST": "::1",
                ], in: scratch)
            #expect(ended.status == 0, "\(ended)")
            for line in [
                "· passed over, since Kubernetes or Docker set them for a service of this name: BELFRY_PORT, BELFRY_PORT_8080_TCP, BELFRY_SERVICE_HOST.",
                "✓ settings file: \(file)", "✓ data directory: \(scratch.file("data"))",
                "✓ key ring: \(scratch.file("data"))/key-ring", "✓ database: \(scratch.file("data"))/belfry.sqlite",
                "✓ http listens on: http://[::1]:18080", "✓ management listens on: http://127.0.0.1:18080",
                "✓ The configuration is sound.",
            ] {
                #expect(ended.out.split(separator: "\n").contains(Substring(line)), "\(line): \(ended.out)")
            }
            #expect(
                ended.out.contains(#/✓ connections: [0-9]+ of callers, 5000 from one address, 512 to providers, of/#))
        }
    }
}
