import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import GRDB
import NIOCore
import Testing

/// The real program, ended by `kill -9` around the moments at which schedules fall due.
extension CrashTests {
    @Suite struct ScheduleKillTests {
        @Test(.timeLimit(.minutes(20)))
        func `kills around due moments lose, double or revive no schedule`()
            async throws
        {
            try await Scratch.with { scratch in
                try await TestSystem.with(["data.directory": scratch.file("data")], latency: 50) { system in
                    try await ScheduleKillScenario(scratch, system).play()
                }
            }
        }

        @Test(.timeLimit(.minutes(20)))
        func `kills around its times double no recurring schedule`() async throws {
            try await TestInstallation.with { installation in
                _ = try await installation.crowd(1)
                let made = try await installation.run(
                    "schedule", "create", "--app", installation.application, "--body", "Hi", "--everyone", "--every",
                    "day", "--start", "2026-01-01T09:00", "--time-zone", "UTC")
                #expect(made.status == 0, "\(made)")
                var dice = SplitMix64(seed: drawKillSeed())
                for _ in 0..<Thoroughness.count(6, thorough: 20) {
                    // As if its next time came while the server starts.
                    let now = Int64(Date().timeIntervalSince1970 * 1_000)
                    let dueAt = now + dice.duration(0...2).milliseconds
                    try installation.inDatabase {
                        try $0.execute(sql: "UPDATE schedule SET due_at_ms = $1", arguments: [dueAt])
                    }
                    let server = try await installation.serve()
                    defer { server.endAtOnce() }
                    _ = try await server.addresses()
                    try await server.end(SIGKILL)
                }
                let last = try await installation.serve()
                defer { last.endAtOnce() }
                let tomorrow = Int64(Date().timeIntervalSince1970 * 1_000) + 10_000
                try await eventually("it waits for its next time") {
                    try installation.inDatabase {
                        try Int64.fetchOne($0, sql: "SELECT due_at_ms FROM schedule WHERE ended_at_ms IS NULL") ?? 0
                    } > tomorrow
                }
                try await last.end(SIGTERM)
                let (runs, times, receipts, pushes) = try installation.inDatabase { db in
                    (
                        try Int.fetchOne(db, sql: "SELECT count(*) FROM schedule_run") ?? 0,
                        try Int.fetchOne(db, sql: "SELECT count(DISTINCT due_at_ms) FROM schedule_run") ?? 0,
                        try Int.fetchOne(
                            db,
                            sql: "SELECT count(*) FROM push WHERE receipt_id IN (SELECT receipt_id FROM schedule_run)"
                        ) ?? 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM push") ?? 0
                    )
                }
                #expect(runs >= 1 && times == runs && receipts == runs && pushes == runs)
            }
        }

        @Test func `overdue schedules are sent at start, unless expired`() async throws {
            try await TestInstallation.with { installation in
                let crowd = try await installation.crowd(2)
                let first = try await installation.serve()
                defer { first.endAtOnce() }
                let sender = try await installation.sender(at: first.addresses().http)
                let dueAt = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
                for (device, expiry) in [(crowd.devices[0], dueAt + 900_000), (crowd.devices[1], dueAt + 500)] {
                    let reply = try await sender.send(
                        "POST", "/v1/push",
                        #"{"message":{"body":"Hi"},"target":{"devices":["\#(device.uuid)"]},"#
                            + #""scheduleAt":\#(dueAt),"expiryTime":\#(expiry)}"#)
                    #expect(reply.status == 200 && reply.body.contains("schedule_id"), "\(reply)")
                }
                try await first.end(SIGKILL)
                // As if an hour and a second had passed: both are due, and one has expired.
                try installation.inDatabase {
                    try $0.execute(
                        sql: "UPDATE schedule SET due_at_ms = due_at_ms - $1, expires_at_ms = expires_at_ms - $1",
                        arguments: [3_601_000])
                }
                let second = try await installation.serve()
                defer { second.endAtOnce() }
                let senderAgain = try await installation.sender(at: second.addresses().http)
                try await eventually("no schedule waits") {
                    try await senderAgain.send("GET", "/v1/schedules").body == "[]"
                }
                let tokens = crowd.devices.map { $0.token?.bytes ?? [] }
                try await eventually("the missed one is told") {
                    installation.simulator.ledger.token(tokens[0])?.told == 1
                }
                #expect(installation.simulator.ledger.token(tokens[1]) == nil)
                try await second.end(SIGTERM)
            }
        }
    }
}

/// A push to each device at its own moment, a hand at the switch, and one that takes some pushes back.
private struct ScheduleKillScenario: Sendable {
    let scratch: Scratch
    let system: TestSystem
    let crowd: Crowd
    let seed = drawKillSeed()

    private static let kills = Thoroughness.count(6, thorough: 12)
    private static let devices = 50 * kills
    private static let batchesInFlightMax = 4
    /// The life of a process, from the moment that it serves.
    private static let lifeSeconds = 0.05...1.5
    /// When a schedule falls due, from the moment that it is posted.
    private static let dueSeconds = 5.0...(4 + 1.5 * Double(kills))

    private static let environment = Program.shortLeases.merging([
        "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json",
        "BELFRY_DELIVERY_BATCHES_MAX": "\(batchesInFlightMax)",
        "BELFRY_DELIVERY_URGENT_BATCHES_MAX": "\(batchesInFlightMax)",
        "BELFRY_PCF_SEND_IMMEDIATELY_WITHIN_SECONDS": "0",
    ]) { _, own in own }

    private struct Scheduled: Sendable {
        let id: String
        let device: Device
    }

    init(_ scratch: Scratch, _ system: TestSystem) async throws {
        self.scratch = scratch
        self.system = system
        crowd = try await system.crowd(Self.devices)
    }

    func play() async throws {
        var dice = SplitMix64(seed: seed)
        var server = try start()
        defer { server.endAtOnce() }
        let posted = try await post(to: try await server.addresses().http, &dice)
        var cancelled: Set<String> = []
        var toldBefore = crowd.devices.map { _ in 0 }
        for _ in 0..<Self.kills {
            let address = try await server.addresses().http
            let victims = (0..<5).map { _ in dice.pick(posted).id }
            let life = dice.duration(Self.lifeSeconds)
            async let taken = cancel(victims, at: address)
            try await Task.sleep(for: life)
            try await server.end(SIGKILL)
            cancelled.formUnion(await taken)
            toldBefore = try await judgeLife(toldBefore)
            server = try start()
        }
        _ = try await server.addresses()
        try await reckon(posted, cancelled)
        try await server.end(SIGTERM)
        _ = try await judgeLife(toldBefore)
    }

    private func start() throws -> Program {
        try Program.start(
            ["serve", "--data-directory", scratch.file("data")], Self.environment,
            log: scratch.file("log-\(UUID().uuidString)"))
    }

    private func post(to base: String, _ dice: inout SplitMix64) async throws -> [Scheduled] {
        struct Answer: Decodable { let schedule_id: String }
        let sender = system.sender(at: base)
        var posted: [Scheduled] = []
        for device in crowd.devices {
            let dueAt = Int64(Date().timeIntervalSince1970 * 1_000) + dice.duration(Self.dueSeconds).milliseconds
            let reply = try await sender.send(
                "POST", "/v1/push",
                #"{"message":{"body":"Hi"},"target":{"devices":["\#(device.uuid)"]},"scheduleAt":\#(dueAt)}"#)
            let answer = try JSONDecoder().decode(Answer.self, from: Data(reply.body.utf8))
            posted.append(Scheduled(id: answer.schedule_id, device: device))
        }
        return posted
    }

    /// Each device has one push, so it is notified again only by a process that took over from a killed one.
    ///
    /// - Returns: how often each device has been told by now.
    private func judgeLife(_ toldBefore: [Int]) async throws -> [Int] {
        try await eventually("the simulator has seen the last of the process") {
            system.simulator.ledger.totals().connections.open == 0
        }
        let told = crowd.devices.map { system.simulator.told($0) }
        #expect(zip(told, toldBefore).allSatisfy { $0 - $1 <= 1 }, "a process told a device twice")
        return told
    }

    /// Cancels schedules. Returns those whose cancellation the server confirmed before it died.
    private func cancel(_ ids: [String], at base: String) async -> [String] {
        let sender = system.sender(at: base)
        var taken: [String] = []
        for id in ids {
            let reply = try? await sender.send("DELETE", "/v1/schedules/\(id)", timeout: .seconds(5))
            if reply?.status == 204 { taken.append(id) }
        }
        return taken
    }

    private func reckon(_ posted: [Scheduled], _ cancelled: Set<String>) async throws {
        try await system.withStore { store in
            try await eventually("no schedule waits") { try await store.nextScheduleDue() == nil }
            let application = system.application.application.key
            var receipts: Set<UUID> = []
            var repeats = 0
            for one in posted {
                let key = try #require(Key<Schedule>(id: one.id))
                let schedule = try #require(try await store.schedule(key, of: application), "a schedule is lost")
                let told = { system.simulator.ledger.token(one.device.token?.bytes ?? []) }
                switch schedule.ending?.how {
                case .sent(let receiptID):
                    #expect(!cancelled.contains(one.id), "cancelled, and sent")
                    #expect(receipts.insert(receiptID).inserted, "two schedules have one receipt")
                    let receipt = try await store.settled(receiptID)
                    #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: 1])
                    let token = try #require(told(), "a device was never told")
                    #expect(token.told == 1 + token.duplicateIDs, "two pushes came of one schedule")
                    repeats += token.duplicateIDs
                case .cancelled:
                    #expect(told() == nil, "a cancelled push was told")
                default:
                    Issue.record("schedule \(one.id) is \(String(describing: schedule.ending))")
                }
            }
            print(
                "\(Self.kills) kills, \(posted.count) schedules, 0 lost, \(cancelled.count) cancelled, "
                    + "\(repeats) devices told again")
        }
    }
}
