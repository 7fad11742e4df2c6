import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// The program on SQLite, started where it was killed, with leases of two minutes.
extension CrashTests {
    @Suite struct TakeoverProgramTests {
        @Test func `in-flight sends repeat at once, or are unknown if at-most-once`() async throws {
            try await TestInstallation.with(simulate: { $0.startsWithOneStream = false }) { installation in
                let crowd = try await installation.crowd(3)
                let first = try await installation.serve()
                defer { first.endAtOnce() }
                let base = try await first.addresses().http
                // A connection has one stream until an answer proves its token.
                let proof = try await installation.push()
                #expect(try await installation.settled(proof).counts == ["accepted": 3])
                installation.simulator.script.add(ServiceFault(then: .hang(told: true)))
                let least = try await installation.sender(at: base).push("Hello", toTopic: "town")
                let most = try await installation.push("--at-most-once")
                try await eventually("all are in flight") {
                    installation.simulator.ledger.totals().told >= 3 * crowd.devices.count
                }
                try await first.end(SIGKILL)
                installation.simulator.script.clear()
                let second = try await installation.serve()
                defer { second.endAtOnce() }
                _ = try await second.addresses()
                // A quarter of the lease.
                let answers = try await installation.settled(least, within: .seconds(30))
                #expect(answers.counts == ["accepted": 3])
                #expect(try await installation.settled(most, within: .seconds(30)).counts == ["unknown": 3])
                #expect(second.logged.contains("took over batches"))
                try await second.end(SIGTERM)
            }
        }

        @Test func `a parked platform stays parked, retries and resumes once mended`() async throws {
            try await TestInstallation.with { installation in
                _ = try await installation.crowd(4)
                installation.simulator.script.add(
                    ServiceFault(then: .answer(ScriptedAnswer("InvalidProviderToken", status: 403))))
                let first = try await installation.serve()
                defer { first.endAtOnce() }
                let push = try await installation.sender(at: try await first.addresses().http)
                    .push("Hello", toTopic: "town")
                try await eventually("it is parked") {
                    try await installation.run("platform", "show", installation.platform).out.contains("next probe at")
                }
                let receipt = try await installation.run("receipt", push.lowercased)
                #expect(receipt.out.contains("next_probe_at") && receipt.out.contains("provider"), "\(receipt)")
                try await first.end(SIGKILL)
                #expect(try await installation.run("platform", "show", installation.platform).out.contains("parked"))
                installation.simulator.script.clear()
                let second = try await installation.serve()
                defer { second.endAtOnce() }
                _ = try await second.addresses()
                #expect(try await installation.settled(push).counts == ["accepted": 4])
                let shown = try await installation.run("platform", "show", installation.platform)
                #expect(!shown.out.contains("parked"), "\(shown)")
                try await second.end(SIGTERM)
            }
        }
    }
}

extension TestInstallation {
    fileprivate func push(_ flags: String...) async throws -> UUID {
        let made: [String: String] = try await run(
            ["push", "--app", application, "--topic", "town", "--body", "x", "--json"] + flags
        ).decoded()
        return try #require(made["receipt_id"].flatMap { UUID(uuidString: $0) })
    }
}
