/// The memory of connections over HTTP that were answered once and keep still, as those of apps and back ends do.
struct HTTPIdleRow {
    let environment: BenchmarkEnvironment

    private static let connections = 2_000

    func measure() async throws -> [Row] {
        try FileLimit.raise(to: UInt(2 * Self.connections))
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: "\(environment.directory)/http-idle",
            simulator: environment.simulator, settings: ["BELFRY_HTTP_IDLE_SECONDS": "600"])
        do {
            let row = try await row(server)
            try await server.stop()
            return [row]
        } catch {
            try await server.stop()
            throw error
        }
    }

    private func row(_ server: Server) async throws -> Row {
        let requests = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: server.identity.app)
        let first = HTTPCaller(port: server.port)
        for number in 0..<2_000 { try await register(number % 100, requests, server, first) }
        try await Task.sleep(for: .seconds(3))
        let meter = server.child.meter
        let before = (resident: meter.residentMiB, own: meter.proportionalKiB, files: meter.openFiles)
        let callers = (0..<Self.connections).map { _ in HTTPCaller(port: server.port) }
        for (number, caller) in callers.enumerated() { try await register(number % 100, requests, server, caller) }
        try await Task.sleep(for: .seconds(3))
        let after = (resident: meter.residentMiB, own: meter.proportionalKiB, files: meter.openFiles)
        guard after.files - before.files >= Self.connections else {
            throw BenchmarkFault("the server has closed connections: \(after.files - before.files) are open")
        }
        for caller in callers + [first] { try await caller.close() }
        let each = (after.own - before.own) / Double(Self.connections)
        let resident = (after.resident - before.resident) * 1_024 / Double(Self.connections)
        return Row(
            what: "\(Self.connections.grouped) idle connections over HTTP, memory of one",
            ours: "\(each.fixed(1)) KiB; resident \(resident.fixed(1)) KiB",
            reference: "before them \(before.resident.fixed(0)) MiB", target: "≤ 8 KiB", isReached: each <= 8,
            memory: after.resident.fixed(0))
    }

    private func register(
        _ number: Int, _ requests: RegistrationRequests, _ server: Server, _ caller: HTTPCaller
    ) async throws {
        let body = String(decoding: requests.body(number), as: UTF8.self)
        _ = try await caller.post("/v1/registration", credentials: server.identity.app, body)
    }
}
