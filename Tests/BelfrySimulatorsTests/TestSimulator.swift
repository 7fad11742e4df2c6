import BelfryTesting
import Synchronization

@testable import BelfrySimulators

/// A simulator with one known key, a clock that stands still until it is moved, and clients for it.
struct TestSimulator: Sendable {
    static let now: Int64 = 1_800_000_000

    /// Seconds since 1970.
    final class ManualClock: Sendable {
        private let seconds = Mutex(TestSimulator.now)
        var now: Duration { .seconds(seconds.withLock { $0 }) }
        func move(by seconds: Int64) { self.seconds.withLock { $0 += seconds } }
    }

    let simulator: APNsSimulator
    let key: APNsSimulator.IssuedKey
    let clock: ManualClock

    /// A port that no other simulator is given while this one does not listen: below those the kernel deals out.
    static func ownPort() throws -> Int { try Loopback.freePort() }

    /// Runs a test against a simulator and shuts it down.
    static func with(
        _ change: (inout APNsSimulator.Configuration) -> Void = { _ in },
        _ body: (TestSimulator) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        let clock = ManualClock()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configuration.startsWithOneStream = false
        configuration.listening.now = { clock.now }
        change(&configuration)
        let fixture = TestSimulator(simulator: try await .start(configuration), key: key, clock: clock)
        do {
            try await body(fixture)
        } catch {
            try await fixture.simulator.shutdown()
            throw error
        }
        try await fixture.simulator.shutdown()
    }

    func connect(as identity: CertificateAuthority.Identity? = nil) async throws -> WireClient {
        try await .connect(
            to: WireTarget(port: simulator.port, trustRootPEM: simulator.trustRootPEM),
            identity: identity.map { ($0.certificatePEM, $0.privateKeyPEM) })
    }

    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// The fields of a proper request; a change of nil takes a field away.
    func fields(_ changes: [String: String?] = [:], issuedAt: Int64 = TestSimulator.now) throws -> [(String, String)] {
        var fields: [(String, String?)] = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/\(Self.token(1))"),
            ("authorization", "bearer \(try jwt(issuedAt))"),
            ("apns-topic", "com.example.app"), ("apns-push-type", "alert"),
        ]
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            if let index = fields.firstIndex(where: { $0.0 == name }) {
                fields[index].1 = value
            } else {
                fields.append((name, value))
            }
        }
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }

    func requests(_ tokens: ClosedRange<Int>) throws -> [(fields: [(String, String)], body: String)] {
        let fields = try fields()
        return tokens.map { number in
            let own = fields.map { $0.0 == ":path" ? (":path", "/3/device/\(Self.token(number))") : $0 }
            return (own, #"{"aps":{}}"#)
        }
    }

    private func jwt(_ issuedAt: Int64) throws -> String {
        try key.providerToken(issuedAt: issuedAt)
    }
}

extension [WireClient.Event] {
    /// The status of each answered stream.
    var statuses: [Int32: String] {
        var statuses: [Int32: String] = [:]
        for case .answer(let stream, let fields) in self { statuses[stream] = fields[":status"] }
        return statuses
    }

    var bodies: [Int32: String] {
        var bodies: [Int32: String] = [:]
        for case .data(let stream, let text) in self { bodies[stream, default: ""] += text }
        return bodies
    }
}
