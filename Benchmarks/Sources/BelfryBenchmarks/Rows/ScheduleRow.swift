import NIOCore

/// How late pushes leave that wait for their time among many others, and how fast those are taken.
struct ScheduleRow {
    let environment: BenchmarkEnvironment

    private static let dueCount = 250
    /// A push that is due within 60 seconds is sent at once.
    private static let firstDueIn = 75_000.0
    private static let pace = 40.0

    func measure() async throws -> [Row] {
        let directory = "\(environment.directory)/server-schedules"
        let server = try await Server.start(
            belfry: environment.options.belfry, directory: directory, simulator: environment.simulator,
            settings: ["BELFRY_LIMIT_SENDERS_PER_SECOND": "0"])
        do {
            let row = try await row(server, in: directory)
            try await server.stop()
            return [row]
        } catch {
            try await server.stop()
            throw error
        }
    }

    private func row(_ server: Server, in directory: String) async throws -> Row {
        let (crowd, _) = try await Crowd.register(count: 1_000, at: server, in: directory)
        let requests = ScheduleRequests(port: server.port, credentials: server.identity.sender)
        let waiting = environment.options.quick ? 100_000 : 1_000_000
        note("scheduling \(waiting.grouped) pushes")
        let rate = try await HTTPLoad(port: server.port, connections: 64, write: requests.write).run(0..<waiting)
        try await environment.simulator.forget()
        try server.child.meter.resetPeak()
        let waits = try await waits(try await Sender(server), crowd)
        let (half, most, last) = (waits.quantile(0.5), waits.quantile(0.99), waits.max() ?? 0)
        return Row(
            what: "one device at a set time, \(waiting.grouped) schedules wait: due → told, \(waits.count) pushes",
            ours: "p50 \(half.fixed(1)), p99 \(most.fixed(1)), max \(last.fixed(1)) ms; "
                + "schedules taken at \(rate.perSecond)",
            target: "p99 ≤ 1000 ms", isReached: most <= 1_000, memory: server.child.meter.peakMiB.fixed(0))
    }

    /// The times from each due moment until its device was notified, in milliseconds.
    private func waits(_ sender: Sender, _ crowd: Crowd) async throws -> [Double] {
        let first = Int(WallClock.now + Self.firstDueIn)
        let places = crowd.singles.indices.prefix(Self.dueCount)
        let dueAt = places.map { first + $0 * Int(Self.pace) }
        for place in places { try await sender.schedule(toDevice: crowd.singles[place], at: dueAt[place]) }
        let end = Double(dueAt.last ?? first) + 5_000
        while WallClock.now < end { try await Task.sleep(for: .milliseconds(200)) }
        var waits: [Double] = []
        for place in places {
            guard let toldAt = try await environment.simulator.firstTold(Crowd.single(place)) else {
                throw BenchmarkFault("a device was not told within five seconds of its time")
            }
            // The ledger cuts off fractions of a millisecond, which are counted against us.
            waits.append(toldAt + 1 - Double(dueAt[place]))
        }
        return waits
    }
}

/// Requests that post pushes for a topic without subscribers, due from tomorrow on.
private struct ScheduleRequests: Sendable {
    private let head: [UInt8]

    init(port: Int, credentials: String) {
        head = Array(
            """
            POST /v1/push HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: Basic \(credentials)\r\n\
            Content-Type: application/json\r\nContent-Length: 
            """.utf8)
    }

    func write(_ number: Int, to buffer: inout ByteBuffer) {
        var state = UInt64(number)
        let wait = 86_400 + Devices.splitMix(&state) % 86_400_000
        let body =
            #"{"message":{"body":"The bread of order \#(number) is ready"},"target":{"topics":["later"]},"#
            + #""scheduleIn":\#(wait)}"#
        buffer.writeBytes(head)
        buffer.writeString("\(body.utf8.count)\r\n\r\n\(body)")
    }
}
