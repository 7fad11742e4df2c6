import Foundation
import Synchronization
import Testing

/// One of several `belfry serve` on one database, which comes and goes.
final class NodeProgram: Sendable {
    private struct State {
        var program: Program?
        var address: String?
    }

    private let number: Int
    private let scratch: Scratch
    private let database: String
    private let settings: [String: String]
    private let entrance: [String]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - database: its URL, as this node reaches it.
    ///   - keyRing: the file of the ring that all nodes have.
    ///   - entrance: see `OtherNetwork`.
    init(
        _ number: Int, in scratch: Scratch, database: String, keyRing: String, _ settings: [String: String] = [:],
        entrance: [String] = []
    ) {
        self.number = number
        self.scratch = scratch
        self.database = database
        self.entrance = entrance
        self.settings = Program.shortLeases.merging([
            "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
            // Several share what one has in other tests.
            "BELFRY_DELIVERY_LEASE_SECONDS": "6", "BELFRY_APNS_DEADLINE_SECONDS": "5",
            "BELFRY_KEY_RING_FILE": keyRing,
        ]) { _, own in own }.merging(settings) { _, given in given }
    }

    /// Where it can be reached, or could before it was stopped; nil when it never could, or was killed.
    var address: String? { state.withLock { $0.address } }

    var logged: String { program?.logged ?? "" }

    private var program: Program? { state.withLock { $0.program } }

    /// Starts it unless it runs; one that finds no database ends, and is started again, as a supervisor would.
    func start() async throws {
        guard program == nil else { return }
        try await eventually("node \(number) serves", every: .milliseconds(200)) {
            let program = try launch()
            state.withLock { $0.program = program }
            guard let address = try? await program.addresses().http else { return false }
            state.withLock { $0.address = address }
            return true
        }
    }

    /// The metrics page of the node, which runs.
    func metrics() async throws -> String {
        guard let program else { return "" }
        return try await Caller(base: try await program.addresses().management, user: "", secret: "")
            .send("GET", "/metrics").body
    }

    /// False when it does not run.
    func kill() async throws -> Bool {
        guard let program else { return false }
        state.withLock { $0 = State() }
        try await program.end(SIGKILL)
        return true
    }

    /// Stops it in good order. Its address stays, and refuses.
    func stop() async throws {
        guard let program else { return }
        try await program.end(SIGTERM)
        #expect(program.ending == 0, "node \(number) did not end well: \(program.logged.suffix(1_000))")
        state.withLock { $0.program = nil }
    }

    func endAtOnce() { program?.endAtOnce() }

    private func launch() throws -> Program {
        try Program.start(
            ["serve", "--data-directory", scratch.file("node-\(number)"), "--database", database], settings,
            behind: entrance, log: scratch.file("log-\(number)-\(UUID().uuidString)"))
    }
}
