import BelfryTesting
import Foundation
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import BelfryGateway
@testable import BelfryService

@Suite struct GatewayIntakeTests {
    private struct Bench {
        let clock = ManualClock()
        let store: SQLiteStore
        let platform: Platform
        let verdicts = GatewayVerdicts(next: NoPushObserver())
        let intake: GatewayIntake

        init() async throws {
            store = try SQLiteStore.temporary(clock: clock)
            platform = try await Self.platform(of: "a", in: store)
            intake = GatewayIntake(Services(store, clock: clock), verdicts: verdicts, patience: .zero)
        }

        static func platform(of name: String, in store: SQLiteStore) async throws -> Platform {
            let application = try await store.create(
                NewApplication(
                    uuid: UUID(), name: name, apiKeyHash: Array(name.utf8), sharedSecret: Sealed(bytes: [])))
            return try await store.create(
                NewPlatform(
                    uuid: UUID(), applicationKey: application.key, kind: .ios, mode: .production, name: "p",
                    secretHash: [], credentials: Sealed(bytes: [])))
        }

        /// The answer to a request of HTTP/2 for the device of `record(1)`.
        func answer(within wait: Duration = .zero) async -> GatewayResponse {
            var request = GatewayRequest(stream: 1)
            request.method = "POST"
            request.path = "/3/device/" + String(repeating: "01", count: 32)
            request.body = Array(#"{"aps":{"alert":"x"}}"#.utf8)
            return await intake.answer(request, on: platform, within: wait).response
        }

        func record(
            _ number: UInt32, _ payload: String = #"{"aps":{"alert":"x"}}"#, expiry: UInt32? = nil
        ) -> GatewayRecord {
            GatewayRecord(
                command: .frame, identifier: number, token: [UInt8](repeating: UInt8(number), count: 32),
                payload: Array(payload.utf8), expiry: expiry)
        }

        var pushes: [Push] {
            get async throws { try await store.allPushes() }
        }
    }

    @Test func `records become urgent one-device pushes, whatever their payload`() async throws {
        let bench = try await Bench()
        let silent = #"{"aps":{"content-available":1,"odd":{}},"x":[1]}"#
        let records = [bench.record(1), bench.record(2, silent, expiry: 0), bench.record(1, expiry: 4_000_000_000)]
        let result = await bench.intake.take(records, on: bench.platform) { _ in }
        #expect(result == GatewayIntake.Result(accepted: 3, fault: nil))
        #expect(try await bench.pushes.count == 3)
        #expect(try await bench.store.allDevices().count == 2)
        #expect(try await bench.pushes.allSatisfy { $0.lane == .urgent })
        let update = try #require(try await bench.pushes.first { $0.content.apple?.type == .background }?.content.apple)
        #expect(update.payload["aps"]?["odd"] == .object([:]) && !update.isStored && update.priority == .considerate)
        #expect(try await bench.pushes.contains { $0.expiresAt == Instant(milliseconds: 4_000_000_000_000) })
        let stored = try Push.Content(stored: try await Array(bench.pushes[0].content.storedText.utf8))
        #expect(try await stored == bench.pushes[0].content)
        let payload = try IOSPayload(Push.Content(body: nil, apple: update), receiptID: UUID(), sentAt: .zero)
        #expect(try JSONValue(json: payload.bytes) == JSONValue(json: silent.utf8), "no receipt id is written into it")
    }

    @Test(arguments: ["", "x", "[]", "7", #"{"aps":"#])
    func `nothing behind a refused record becomes a push`(payload: String) async throws {
        let bench = try await Bench()
        let records = [bench.record(1), bench.record(2, payload), bench.record(3)]
        let result = await bench.intake.take(records, on: bench.platform) { _ in }
        #expect(result.accepted == 1 && result.fault == GatewayError(.processingError, identifier: 2))
        #expect(try await bench.pushes.count == 1)
    }

    @Test func `a refusal is sent once with its identifier, alone`() async throws {
        let bench = try await Bench()
        let told = Mutex<[GatewayError?]>([])
        _ = await bench.intake.take([bench.record(1), bench.record(2)], on: bench.platform) { error in
            told.withLock { $0.append(error) }
        }
        let batches = try await bench.store.claimBatches(
            BatchClaim(burstsMax: 9, roomElsewhere: 9, lease: .seconds(60)))
        for (push, answer) in zip(try await bench.pushes, [Answer.accepted, .refused(.badToken)]) {
            let batch = try #require(batches.first { $0.pushKey == push.key })
            for _ in 0..<2 {
                bench.verdicts.settled(push.head, Settlement(batch: batch, answers: [answer], retryAt: nil))
            }
        }
        let refused = told.withLock { $0 }
        #expect(refused.map { $0?.status } == [.invalidToken])
    }

    /// Gives a session the events of a connection, and returns what it says last.
    private func lastWords(
        _ bench: Bench, _ play: (GatewaySession) async throws -> Void
    ) async throws -> [GatewayError?] {
        let words = LastWords()
        let channel = await NIOAsyncTestingChannel(handler: words)
        var options = GatewayOptions()
        options.silence = .zero
        let session = GatewaySession(
            channel, options, intake: bench.intake, senders: GatewaySenders(store: bench.store, clock: bench.clock))
        _ = try await bench.store.createGatewayCredential(
            SecretHash.of("sender"), expiresAt: nil, on: bench.platform.key)
        try await session.handle(.certificate(Array("sender".utf8)))
        try await play(session)
        await channel.testingEventLoop.run()
        _ = try await channel.finish()
        return words.all
    }

    @Test(arguments: GatewayRecord.Command.allCases)
    func `a stop names the last record that was accepted`(command: GatewayRecord.Command) async throws {
        let idle = try await lastWords(try await Bench()) { try await $0.handle(.stopping) }
        #expect(idle == [nil])
        let bench = try await Bench()
        var record = bench.record(0)
        record.command = command
        let events = [GatewayInbound.records([record]), .stopping]
        let busy = try await lastWords(bench) { session in
            for event in events { try await session.handle(event) }
        }
        #expect(busy == [command == .simple ? nil : GatewayError(.shutdown, identifier: 0)])
    }

    @Test(arguments: GatewayRecord.Command.allCases)
    func `nothing is accepted behind a late refusal`(command: GatewayRecord.Command) async throws {
        let bench = try await Bench()
        var record = bench.record(1)
        record.command = command
        let first = GatewayInbound.records([record])
        let said = try await lastWords(bench) { session in
            try await session.handle(first)
            let batches = try await bench.store.claimBatches(
                BatchClaim(burstsMax: 9, roomElsewhere: 9, lease: .seconds(60)))
            let push = try #require(try await bench.pushes.first)
            let settlement = Settlement(
                batch: try #require(batches.first), answers: [.refused(.badToken)], retryAt: nil)
            bench.verdicts.settled(push.head, settlement)
            try await session.handle(.records([bench.record(2)]))
            try await session.handle(.fault(GatewayDecoder.Fault(.protocolError)))
        }
        #expect(said == [command == .simple ? nil : GatewayError(.invalidToken, identifier: 1)])
        #expect(try await bench.pushes.count == 1)
    }

    @Test func `a revoked certificate ends its open connection`() async throws {
        let bench = try await Bench()
        let said = try await lastWords(bench) { session in
            try await session.handle(.records([bench.record(1)]))
            let credential = try #require(try await bench.store.gatewayCredentials(of: bench.platform.key).first)
            #expect(try await bench.store.delete(credential.key, of: bench.platform.key))
            try await session.handle(.records([bench.record(2)]))
            bench.clock.advance(by: GatewayOptions().certificateTrust)
            try await session.handle(.records([bench.record(3)]))
        }
        #expect(said == [GatewayError(.shutdown, identifier: 2)])
        #expect(try await bench.pushes.count == 2)
    }

    @Test func `no step begins behind a late refusal`() async throws {
        let bench = try await Bench()
        let looks = Mutex(0)
        let records = [GatewayRecord](repeating: bench.record(1), count: 300)
        let result = await bench.intake.take(
            records, on: bench.platform, tell: { _ in },
            isOver: {
                looks.withLock { count in
                    count += 1
                    return count > 1
                }
            })
        #expect(result == GatewayIntake.Result(accepted: 128, fault: GatewayError(.processingError, identifier: 1)))
        #expect(try await bench.pushes.count == 128)
    }

    @Test func `a dead token is tried again after a day`() async throws {
        let bench = try await Bench()
        #expect(await bench.answer().status == 200)
        let device = try #require(try await bench.store.allDevices().first)
        try await bench.store.unregister(device.uuid, on: bench.platform.key)
        let answer = await bench.answer(within: .seconds(60))
        #expect(answer.status == 410 && answer.since == device.registeredAt.milliseconds)
        #expect(try await bench.pushes.count == 1, "nothing is sent to it")
        let silent = await bench.intake.take([bench.record(1)], on: bench.platform) { _ in }
        #expect(silent == GatewayIntake.Result(accepted: 1, fault: nil))
        #expect(try await bench.store.allDevices().first?.isActive == false)
        bench.clock.advance(by: .seconds(86_400))
        #expect(await bench.answer().status == 200)
        #expect(try await bench.store.allDevices().map(\.isActive) == [true])
    }

    @Test func `records beyond one step are taken in order`() async throws {
        let bench = try await Bench()
        let records = [GatewayRecord](repeating: bench.record(1), count: 300)
        let result = await bench.intake.take(records, on: bench.platform) { _ in }
        #expect(result == GatewayIntake.Result(accepted: 300, fault: nil))
        #expect(try await bench.pushes.count == 300)
    }

    @Test func `a busy application leaves others their turn`() async throws {
        let bench = try await Bench()
        let other = try await Bench.platform(of: "b", in: bench.store)
        let (turns, busy) = (bench.intake.recordTurns, bench.platform.applicationKey)
        let late = try await withThrowingTaskGroup(of: GatewayIntake.Result.self) { group in
            try await turns.run(for: busy) {
                try await turns.run(for: busy) {
                    group.addTask { await bench.intake.take([bench.record(1)], on: bench.platform) { _ in } }
                    while turns.waitingCount == 0 { await Task.yield() }
                    let result = await bench.intake.take([bench.record(2)], on: other) { _ in }
                    let pushes = try await bench.pushes
                    #expect(result.accepted == 1 && pushes.count == 1)
                }
            }
            return try await group.next()
        }
        #expect(late?.accepted == 1)
    }

    @Test func `the application with most watches forgets its oldest`() {
        var watched = WatchedPushes(countMax: 5)
        let (quiet, busy) = (UUID(), (0..<9).map { _ in UUID() })
        watched.add(quiet, of: Key(1)) { _ in }
        for push in busy { watched.add(push, of: Key(2)) { _ in } }
        #expect(watched.count <= 5)
        let isQuietKept = watched.remove(quiet, of: Key(1)) != nil
        let areBusyKept = busy.map { watched.remove($0, of: Key(2)) != nil }
        #expect(isQuietKept && areBusyKept.first == false && areBusyKept.last == true)
    }

    @Test func `an application without plain text takes no records`() async throws {
        let bench = try await Bench()
        try await bench.store.edit(bench.platform.applicationKey, ApplicationEdit(takesEncryptedOnly: true))
        let result = await bench.intake.take([bench.record(1)], on: bench.platform) { _ in }
        #expect(result == GatewayIntake.Result(accepted: 0, fault: GatewayError(.processingError, identifier: 1)))
        #expect(try await bench.pushes.isEmpty)
        #expect(try await bench.store.allDevices().isEmpty)
    }
}

/// The connection of a session, which keeps the ends that it is told.
private final class LastWords: ChannelOutboundHandler, Sendable {
    typealias OutboundIn = Never

    private let told = Mutex<[GatewayError?]>([])

    var all: [GatewayError?] { told.withLock { $0 } }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if case .end(let error)? = event as? GatewayCommand { told.withLock { $0.append(error) } }
        promise?.succeed()
    }
}
