import BelfryTesting
import Foundation
import Synchronization
import Testing

@testable import BelfryServer

/// The real program, ended by `kill -9` again and again while devices register.
///
/// See docs/Architecture.md, "What must always hold", 1.
extension CrashTests {
    @Suite(.timeLimit(.minutes(20))) struct RegistrationKillTests {
        private static let kills = Thoroughness.count(3, thorough: 5)
        private static let namesPerLife = 300

        @Test func `a device keeps its given name; no token has two`() async throws {
            try await TestInstallation.with { installation in
                let crowd = NamedCrowd()
                for _ in 0..<Self.kills {
                    let server = try await installation.serve()
                    defer { server.endAtOnce() }
                    let app = installation.app(at: try await server.addresses().http)
                    let goal = crowd.count + Self.namesPerLife
                    try await withThrowingTaskGroup { group in
                        for _ in 0..<16 { group.addTask { try await crowd.register(at: app) } }
                        try await eventually("some have their names") { crowd.count >= goal }
                        try await server.end(SIGKILL)
                        group.cancelAll()
                        try await group.waitForAll()
                    }
                }
                let last = try await installation.serve()
                defer { last.endAtOnce() }
                let app = installation.app(at: try await last.addresses().http)
                for token in crowd.tokens {
                    #expect(crowd.keeps(try await NamedCrowd.register(token, at: app), for: token), "token \(token)")
                }
                let count = try await app.send("GET", "/v1/registration/count/")
                #expect(count.body == "\(crowd.tokens.count)")
                try await last.end(SIGTERM)
            }
        }
    }
}

/// Devices, and what servers said their names are.
private final class NamedCrowd: Sendable {
    private let state = Mutex((next: 0, names: [Int: String]()))

    /// The number of devices that got their UUIDs.
    var count: Int { state.withLock { $0.names.count } }

    /// All that were tried.
    var tokens: Range<Int> { 0..<state.withLock { $0.next } }

    /// Registers new devices, and old ones again, until it is cancelled.
    func register(at app: Caller) async throws {
        while true {
            let (new, old) = state.withLock { state in
                state.next += 1
                return (state.next - 1, state.next / 2)
            }
            for token in [new, old] {
                guard let name = try? await Self.register(token, at: app) else {
                    // A server that is gone refuses at once, and each token that is tried is registered at the end.
                    guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
                    continue
                }
                #expect(keeps(name, for: token), "token \(token)")
            }
        }
    }

    /// Whether the token has no other name; it has this one from now on.
    func keeps(_ name: String, for token: Int) -> Bool {
        state.withLock { state in
            let known = state.names[token] ?? name
            state.names[token] = known
            return known == name
        }
    }

    static func register(_ token: Int, at app: Caller) async throws -> String {
        struct Named: Decodable { let device_uuid: String }
        let hex = String(token + 1, radix: 16)
        let body = """
            {"registration_token":"\(String(repeating: "0", count: 64 - hex.count) + hex)","os":"ios","tags":["town"]}
            """
        let reply = try await app.send("POST", "/v1/registration", body)
        guard reply.status == 200 else { throw Caller.Refused(reply: reply) }
        return try JSONDecoder().decode(Named.self, from: Data(reply.body.utf8)).device_uuid
    }
}
