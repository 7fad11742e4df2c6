import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// The live event stream of an application.
@Suite(.timeLimit(.minutes(20))) struct EventStreamTests {
    @Test func `a reader follows a push from acceptance to last answer`()
        async throws
    {
        try await TestEventHub.open { fixture in
            let reader = try await fixture.hub.subscribe(to: fixture.application.key)
            let received = ReceivedEvents(reader)
            try await fixture.register(3)
            let push = try await fixture.push()
            await received.read(until: "event: accepted")
            try await fixture.fanOut()
            try await fixture.settleAll()
            await received.read(until: "event: settled")
            let text = received.text
            #expect(
                text.contains(#""receipt_id":"\#(push.receiptID.uuidString.lowercased())","state":"settled""#),
                "\(text)")
            #expect(text.contains(#""devices":3,"answered":3,"counts":{"accepted":3},"parked":[]"#), "\(text)")
            #expect(text.hasPrefix("retry: 2000\n\nid: \(fixture.hub.epoch)-1\nevent: accepted\ndata: {"))
            #expect(text.components("event: settled") == 1)
        }
    }

    @Test func `a reader hears nothing of another application`() async throws {
        try await TestEventHub.open { fixture in
            let stranger = try await fixture.store.create(.test(PlaintextVault()))
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: stranger.key))
            let own = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            _ = try await fixture.push()
            await own.read(until: "event: accepted")
            #expect(received.newEvents().isEmpty)
        }
    }

    @Test func `a slow reader loses events and hears how many`() async throws {
        try await TestEventHub.open(ringMax: 4) { fixture in
            let slow = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            let quick = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            for _ in 0..<10 {
                _ = try await fixture.push()
                await quick.read(until: "event: accepted")
                quick.forget()
            }
            let text = slow.newEvents()
            #expect(text.hasPrefix("event: lost\ndata: {\"count\":6}\n\nid: \(fixture.hub.epoch)-7\n"), "\(text)")
            #expect(text.components("event: accepted") == 4)
            #expect(slow.newEvents().isEmpty)
        }
    }

    @Test func `a returning reader resumes after its last event`() async throws {
        try await TestEventHub.open { fixture in
            let first = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            for count in 1...3 {
                _ = try await fixture.push()
                await first.read(until: "\(fixture.hub.epoch)-\(count)\n")
            }
            let again = ReceivedEvents(
                try await fixture.hub.subscribe(to: fixture.application.key, after: "\(fixture.hub.epoch)-1"))
            let newEvents = again.newEvents()
            #expect(newEvents.components("event: accepted") == 2)
            #expect(!newEvents.contains("event: lost"))
            let epoch = fixture.hub.epoch
            let ids = [
                "other-7", epoch, "", "-", "\(epoch)--4", "\(epoch)-4", "\(epoch)-9223372036854775807",
                "\(epoch)--9223372036854775808", "\(epoch)-10000000000000000000",
            ]
            for id in ids {
                let stranger = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key, after: id))
                let text = stranger.newEvents()
                #expect(text.hasPrefix("event: lost\ndata: {\"count\":null}\n\n"), "\(id): \(text)")
                #expect(text.components("event: accepted") == 3)
            }
        }
    }

    @Test func `events are kept for a while after the last reader`() async throws {
        try await TestEventHub.open { fixture in
            do {
                let reader = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
                _ = try await fixture.push()
                await reader.read(until: "event: accepted")
            }
            fixture.clock.advance(by: .seconds(30))
            let again = ReceivedEvents(
                try await fixture.hub.subscribe(to: fixture.application.key, after: "\(fixture.hub.epoch)-0"))
            #expect(again.newEvents().contains("event: accepted"))
        }
    }

    @Test func `a change without a hint is found by looking`() async throws {
        try await TestEventHub.open { fixture in
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            try await fixture.register(1)
            _ = try await fixture.push()
            await received.read(until: "event: accepted")
            try await fixture.store.park(
                fixture.platform.key, Parking(cause: .credentials, detail: "InvalidProviderToken", since: .zero))
            await fixture.waitForLookers()
            fixture.clock.advance(by: .seconds(1))
            await received.read(until: #""parked":[{"#)
            let platform = fixture.platform.uuid.lowercased
            #expect(
                received.text.contains(
                    #""parked":[{"platform_uuid":"\#(platform)","cause":"credentials","detail":"InvalidProviderToken","next_probe_at":null}]"#
                ))
        }
    }

    @Test func `a push that another node accepted is found by looking`() async throws {
        try await TestEventHub.open { fixture in
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            let push = try await fixture.push(isHinted: false)
            await fixture.waitForLookers()
            #expect(received.newEvents().isEmpty)
            fixture.clock.advance(by: .seconds(1))
            await received.read(until: "event: accepted")
            #expect(received.text.contains(push.receiptID.uuidString.lowercased()))
        }
    }

    @Test func `any change to an earlier push is reported`() async throws {
        try await TestEventHub.open { fixture in
            try await fixture.register(2)
            let push = try await fixture.push(isHinted: false)
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            try await fixture.fanOut()
            try await fixture.settleAll(isHinted: false)
            await fixture.waitForLookers()
            fixture.clock.advance(by: .seconds(1))
            await received.read(until: "event: settled")
            #expect(received.text.contains(push.receiptID.uuidString.lowercased()))
            #expect(!received.text.contains("event: accepted"))
        }
    }

    @Test func `each push from other nodes is reported exactly once`() async throws {
        try await TestEventHub.open(stepSize: 3) { fixture in
            for _ in 1...5 { _ = try await fixture.push(isHinted: false) }
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            for round in [7, 1, 0, 8] {
                received.forget()
                var pushes: [Push] = []
                for _ in 0..<round { pushes.append(try await fixture.push(isHinted: false)) }
                await fixture.waitForLookers()
                fixture.clock.advance(by: .seconds(1))
                for push in pushes { await received.read(until: push.receiptID.uuidString.lowercased()) }
                #expect(received.text.components("event: accepted") == round, "\(received.text)")
            }
        }
    }

    @Test func `an open push is followed however many came after it`() async throws {
        try await TestEventHub.open(stepSize: 3) { fixture in
            try await fixture.register(2)
            let push = try await fixture.push(isHinted: false)
            try await fixture.fanOut()
            let batch = try await fixture.claim()
            for _ in 1...5 { _ = try await fixture.push(on: [], isHinted: false) }
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            try await fixture.settle(batch, isHinted: false)
            await fixture.waitForLookers()
            fixture.clock.advance(by: .seconds(1))
            await received.read(until: "event: settled")
            #expect(received.text.contains(push.receiptID.uuidString.lowercased()))
            #expect(!received.text.contains("event: accepted"))
        }
    }

    @Test func `older pushes beyond the limit take turns, not as new`()
        async throws
    {
        try await TestEventHub.open(openMax: 2) { fixture in
            try await fixture.register(1)
            var pushes: [Push] = []
            for _ in 1...4 { pushes.append(try await fixture.push(isHinted: false)) }
            try await fixture.fanOut()
            let batches = try await fixture.claim().sorted { $0.pushKey > $1.pushKey }
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            for (batch, push) in zip(batches, pushes.reversed()) {
                try await fixture.settle([batch], isHinted: false)
                await fixture.waitForLookers()
                fixture.clock.advance(by: .seconds(1))
                let id = push.receiptID.uuidString.lowercased()
                await received.read(until: #""receipt_id":"\#(id)","state":"settled""#)
            }
            #expect(!received.text.contains("event: accepted"))
            #expect(received.text.components("event: settled") == 4)
        }
    }

    @Test func `events missed during store trouble are fetched again`() async throws {
        try await TestEventHub.open { fixture in
            try await fixture.register(1)
            _ = try await fixture.push(isHinted: false)
            try await fixture.fanOut()
            let received = ReceivedEvents(try await fixture.hub.subscribe(to: fixture.application.key))
            try await fixture.settleAll(isHinted: false)
            fixture.blindness.isBlind = true
            await fixture.waitForLookers()
            fixture.clock.advance(by: .seconds(1))
            while fixture.blindness.refusals == 0 { await Task.yield() }
            fixture.blindness.isBlind = false
            await fixture.waitForLookers()
            fixture.clock.advance(by: .seconds(1))
            await received.read(until: "event: settled")
        }
    }

    @Test func `readers are bounded, and a leaving one makes room`() async throws {
        try await TestEventHub.open(readersMax: 2) { fixture in
            var readers = [
                try await fixture.hub.subscribe(to: fixture.application.key),
                try await fixture.hub.subscribe(to: fixture.application.key),
            ]
            let refusal = await #expect(throws: APIError.self) {
                try await fixture.hub.subscribe(to: fixture.application.key)
            }
            #expect(refusal?.status == .serviceUnavailable)
            readers.removeLast()
            readers.append(try await fixture.hub.subscribe(to: fixture.application.key))
            #expect(readers.count == 2)
        }
    }

    @Test func `a silent stream sends keep-alives and ends with the hub`() async throws {
        try await TestEventHub.open { fixture in
            let printed = Printer()
            let response = EventStream(try await fixture.hub.subscribe(to: fixture.application.key)) { true }.response
            #expect(response.headers[.contentType] == "text/event-stream")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await response.body.write(printed) }
                await printed.wait { $0.hasPrefix("retry") }
                for _ in 1...16 {
                    await fixture.waitForLookers()
                    fixture.clock.advance(by: .seconds(1))
                }
                await printed.wait { $0.hasSuffix("\n:\n\n") }
                fixture.hub.close()
                try await group.waitForAll()
            }
            #expect(printed.isFinished)
        }
    }

    @Test func `without its key or application nobody goes on reading`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let hub = EventHub(store: server.store, clock: server.clock, logger: Logger(label: "test"))
        let events = Admin.Events(factory: Admin.RouteFactory(server.services), hub: hub)
        let text = try #require(AdminKey.Text(try await server.key(.readOnly, .tenant(resources.tenant.key))))
        let key = try #require(try await server.store.adminKey(text.id))
        let taken = key.secretHashes(at: server.clock.now)
        #expect(await events.mayRead(resources.application, by: key, taken))
        #expect(await !events.mayRead(resources.application, by: key, [[1]]), "its secret was replaced")
        let tenant = try await server.store.create(NewTenant(uuid: UUID(), name: try Name("other")))
        let other = try await server.resources("other", of: tenant.key)
        #expect(await !events.mayRead(other.application, by: key, taken))
        let gone = try await server.admin.createApplication(
            name: try Name("gone"), by: TestAdminServer.author
        ).application
        #expect(await events.mayRead(gone, by: key, taken))
        try await server.admin.delete(gone, force: true, by: TestAdminServer.author)
        #expect(await !events.mayRead(gone, by: key, taken))
        try await server.admin.revoke(key, by: TestAdminServer.author)
        #expect(await !events.mayRead(resources.application, by: key, taken))
    }

    @Test func `a stream ends when its reader's permission does`() async throws {
        try await TestEventHub.open { fixture in
            let printed = Printer()
            let mayGoOn = Mutex(true)
            let response = EventStream(try await fixture.hub.subscribe(to: fixture.application.key)) {
                mayGoOn.withLock { $0 }
            }.response
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await response.body.write(printed) }
                await printed.wait { $0.hasPrefix("retry") }
                fixture.clock.advance(by: .seconds(1))
                let first = try await fixture.push()
                await printed.wait { $0.contains(first.receiptID.lowercased) }
                mayGoOn.withLock { $0 = false }
                fixture.clock.advance(by: .seconds(1))
                let second = try await fixture.push()
                try await group.waitForAll()
                #expect(!printed.text.contains(second.receiptID.lowercased))
            }
            #expect(printed.isFinished)
        }
    }
}

/// A hub on a store in memory, with a clock that is moved by the test.
private struct TestEventHub {
    let clock = ManualClock()
    let store: InterceptedStore
    let blindness = Blindness()
    let hub: EventHub
    let application: BelfryService.Application
    let platform: Platform

    static func open(
        ringMax: Int = 100, readersMax: Int = 100, stepSize: Int = 100, openMax: Int = 100,
        _ body: (TestEventHub) async throws -> Void
    ) async throws {
        var options = EventHub.Options()
        options.ringMax = ringMax
        options.readersMax = readersMax
        options.stepSize = stepSize
        options.openMax = openMax
        let fixture = try await TestEventHub(options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await fixture.hub.run() }
            try await body(fixture)
            fixture.hub.close()
        }
    }

    private init(_ options: EventHub.Options) async throws {
        store = InterceptedStore(try .temporary(clock: clock)) { [blindness] access in
            if access == .read { try blindness.check() }
        }
        hub = EventHub(store: store, clock: clock, logger: CapturedLog().logger, options: options)
        application = try await store.create(.test(PlaintextVault()))
        platform = try await store.create(.test(.ios, of: application))
    }

    func register(_ count: Int) async throws {
        for number in 1...count {
            let registration = try Registration(
                token: DeviceToken(bytes: [UInt8(number)]), about: .init(), customUserID: .keep, topics: .keep)
            _ = try await store.register(registration, as: nil, on: platform)
        }
    }

    func push(on platforms: [Platform]? = nil, isHinted: Bool = true) async throws -> Push {
        let push = try await store.accept(
            NewPush(
                receiptID: UUID(), applicationKey: application.key, content: .init(body: "x"),
                audience: .list(.active), platformKeys: (platforms ?? [platform]).map(\.key), lane: .normal))
        if isHinted { hub.pushMayHaveChanged(push.head) }
        return push
    }

    func fanOut() async throws {
        for fanOut in try await store.claimFanOuts(atMost: 4, lanes: Lane.allCases, for: .seconds(60)) {
            let devices = try await store.devices(in: fanOut, after: nil, limit: 500)
            _ = try await store.advance(FanOutStep(fanOut: fanOut, batches: [devices], isLast: true))
        }
    }

    func settleAll(isHinted: Bool = true) async throws {
        try await settle(claim(), isHinted: isHinted)
    }

    func claim() async throws -> [BelfryService.Batch] {
        try await store.claimBatches(BatchClaim(burstsMax: 4, roomElsewhere: 4, lease: .seconds(60)))
    }

    func settle(_ batches: [BelfryService.Batch], isHinted: Bool) async throws {
        for batch in batches {
            let push = try await store.load(batch)?.push
            let answers = batch.answers.map { _ in Answer.accepted }
            _ = try await store.settle(Settlement(batch: batch, answers: answers, retryAt: nil))
            if let push, isHinted { hub.pushMayHaveChanged(push.head) }
        }
    }

    /// Until the hub sleeps, so that the clock can wake it.
    func waitForLookers() async {
        while clock.sleepers == 0 { await Task.yield() }
    }
}

/// Lets a store read nothing while it is blind.
private final class Blindness: Sendable {
    private let state = Mutex((isBlind: false, refusals: 0))

    var isBlind: Bool {
        get { state.withLock { $0.isBlind } }
        set { state.withLock { $0.isBlind = newValue } }
    }

    var refusals: Int { state.withLock { $0.refusals } }

    func check() throws {
        let isBlind = state.withLock { state in
            if state.isBlind { state.refusals += 1 }
            return state.isBlind
        }
        guard !isBlind else { throw StoreError.unavailable("it blinks") }
    }
}

/// Collects what a reader has read.
private final class ReceivedEvents {
    private let reader: EventReader
    private var place: EventReader.Place
    private(set) var text = String(buffer: EventWire.greeting)

    init(_ reader: EventReader) {
        self.reader = reader
        place = reader.start
    }

    /// Reads whenever it is woken, until the words have come.
    func read(until words: String) async {
        var ticks = reader.ticks.makeAsyncIterator()
        text += newEvents()
        while !text.contains(words), await ticks.next(isolation: nil) != nil { text += newEvents() }
    }

    func newEvents() -> String {
        var newEvents = ""
        while let next = reader.next(from: &place) { newEvents += String(buffer: next) }
        return newEvents
    }

    func forget() { text = "" }
}

/// Takes what a response writes.
private final class Printer: ResponseBodyWriter, Sendable {
    private let state = Mutex((text: "", isFinished: false))

    var isFinished: Bool { state.withLock { $0.isFinished } }
    var text: String { state.withLock { $0.text } }

    func write(_ buffer: ByteBuffer) async throws { state.withLock { $0.text += String(buffer: buffer) } }

    func finish(_ trailingHeaders: HTTPFields?) async throws { state.withLock { $0.isFinished = true } }

    func wait(_ isSo: (String) -> Bool) async {
        while !isSo(state.withLock { $0.text }) { await Task.yield() }
    }
}

extension String {
    fileprivate func components(_ words: String) -> Int {
        split(separator: words, omittingEmptySubsequences: false).count - 1
    }
}
