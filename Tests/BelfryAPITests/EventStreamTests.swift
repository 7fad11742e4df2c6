import BelfryCore
import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

@testable import BelfryAPI

/// The live event stream of an application.
@Suite(.timeLimit(.minutes(1))) struct EventStreamTests {
    @Test func `a reader hears of a push from its acceptance to its last answer, with the receipt's counters`()
        async throws
    {
        try await Newsstand.open { stand in
            let reader = try await stand.hub.subscribe(to: stand.application.key)
            let paper = Paper(reader)
            try await stand.register(3)
            let push = try await stand.push()
            await paper.read(until: "event: accepted")
            try await stand.spread()
            try await stand.settleAll()
            await paper.read(until: "event: settled")
            let text = paper.text
            #expect(
                text.contains(#""receipt_id":"\#(push.receiptID.uuidString.lowercased())","state":"settled""#),
                "\(text)")
            #expect(text.contains(#""devices":3,"answered":3,"counts":{"accepted":3},"parked":[]"#), "\(text)")
            #expect(text.hasPrefix("retry: 2000\n\nid: \(stand.hub.epoch)-1\nevent: accepted\ndata: {"))
            #expect(text.components("event: settled") == 1)
        }
    }

    @Test func `a reader hears nothing of another application`() async throws {
        try await Newsstand.open { stand in
            let stranger = try await stand.store.create(.test(GlassVault()))
            let paper = Paper(try await stand.hub.subscribe(to: stranger.key))
            let own = Paper(try await stand.hub.subscribe(to: stand.application.key))
            _ = try await stand.push()
            await own.read(until: "event: accepted")
            #expect(paper.news().isEmpty)
        }
    }

    @Test func `a reader that is too slow loses events and is told how many`() async throws {
        try await Newsstand.open(ringMax: 4) { stand in
            let slow = Paper(try await stand.hub.subscribe(to: stand.application.key))
            let quick = Paper(try await stand.hub.subscribe(to: stand.application.key))
            for _ in 0..<10 {
                _ = try await stand.push()
                await quick.read(until: "event: accepted")
                quick.forget()
            }
            let text = slow.news()
            #expect(text.hasPrefix("event: lost\ndata: {\"count\":6}\n\nid: \(stand.hub.epoch)-7\n"), "\(text)")
            #expect(text.components("event: accepted") == 4)
            #expect(slow.news().isEmpty)
        }
    }

    @Test func `a reader that comes again goes on behind the last event it had`() async throws {
        try await Newsstand.open { stand in
            let first = Paper(try await stand.hub.subscribe(to: stand.application.key))
            for count in 1...3 {
                _ = try await stand.push()
                await first.read(until: "\(stand.hub.epoch)-\(count)\n")
            }
            let again = Paper(try await stand.hub.subscribe(to: stand.application.key, after: "\(stand.hub.epoch)-1"))
            let news = again.news()
            #expect(news.components("event: accepted") == 2)
            #expect(!news.contains("event: lost"))
            let epoch = stand.hub.epoch
            let ids = [
                "other-7", epoch, "", "-", "\(epoch)--4", "\(epoch)-4", "\(epoch)-9223372036854775807",
                "\(epoch)--9223372036854775808", "\(epoch)-10000000000000000000",
            ]
            for id in ids {
                let stranger = Paper(try await stand.hub.subscribe(to: stand.application.key, after: id))
                let text = stranger.news()
                #expect(text.hasPrefix("event: lost\ndata: {\"count\":null}\n\n"), "\(id): \(text)")
                #expect(text.components("event: accepted") == 3)
            }
        }
    }

    @Test func `events are kept for a while when the last reader goes`() async throws {
        try await Newsstand.open { stand in
            do {
                let reader = Paper(try await stand.hub.subscribe(to: stand.application.key))
                _ = try await stand.push()
                await reader.read(until: "event: accepted")
            }
            stand.clock.advance(by: .seconds(30))
            let again = Paper(try await stand.hub.subscribe(to: stand.application.key, after: "\(stand.hub.epoch)-0"))
            #expect(again.news().contains("event: accepted"))
        }
    }

    @Test func `a change that nobody hinted at is found by looking`() async throws {
        try await Newsstand.open { stand in
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            try await stand.register(1)
            _ = try await stand.push()
            await paper.read(until: "event: accepted")
            try await stand.store.park(
                stand.platform.key, Parking(cause: .credentials, detail: "InvalidProviderToken", since: .zero))
            await stand.waitForLookers()
            stand.clock.advance(by: .seconds(1))
            await paper.read(until: #""parked":[{"#)
            #expect(paper.text.contains(#""parked":[{"cause":"credentials","detail":"InvalidProviderToken"}]"#))
        }
    }

    @Test func `a push that another node accepted is found by looking`() async throws {
        try await Newsstand.open { stand in
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            let push = try await stand.push(isHinted: false)
            await stand.waitForLookers()
            #expect(paper.news().isEmpty)
            stand.clock.advance(by: .seconds(1))
            await paper.read(until: "event: accepted")
            #expect(paper.text.contains(push.receiptID.uuidString.lowercased()))
        }
    }

    @Test func `of pushes that were there before, what changes is told, whoever changes it`() async throws {
        try await Newsstand.open { stand in
            try await stand.register(2)
            let push = try await stand.push(isHinted: false)
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            try await stand.spread()
            try await stand.settleAll(isHinted: false)
            await stand.waitForLookers()
            stand.clock.advance(by: .seconds(1))
            await paper.read(until: "event: settled")
            #expect(paper.text.contains(push.receiptID.uuidString.lowercased()))
            #expect(!paper.text.contains("event: accepted"))
        }
    }

    @Test func `however many pushes other nodes accept between two looks, each is told of once`() async throws {
        try await Newsstand.open(stretch: 3) { stand in
            for _ in 1...5 { _ = try await stand.push(isHinted: false) }
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            for round in [7, 1, 0, 8] {
                paper.forget()
                var pushes: [Push] = []
                for _ in 0..<round { pushes.append(try await stand.push(isHinted: false)) }
                await stand.waitForLookers()
                stand.clock.advance(by: .seconds(1))
                for push in pushes { await paper.read(until: push.receiptID.uuidString.lowercased()) }
                #expect(paper.text.components("event: accepted") == round, "\(paper.text)")
            }
        }
    }

    @Test func `an open push is followed however many came after it`() async throws {
        try await Newsstand.open(stretch: 3) { stand in
            try await stand.register(2)
            let push = try await stand.push(isHinted: false)
            try await stand.spread()
            let page = try await stand.claim()
            for _ in 1...5 { _ = try await stand.push(on: [], isHinted: false) }
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            try await stand.settle(page, isHinted: false)
            await stand.waitForLookers()
            stand.clock.advance(by: .seconds(1))
            await paper.read(until: "event: settled")
            #expect(paper.text.contains(push.receiptID.uuidString.lowercased()))
            #expect(!paper.text.contains("event: accepted"))
        }
    }

    @Test func `of more open pushes than are followed the older ones have their turn, and are no news`() async throws {
        try await Newsstand.open(openMax: 2) { stand in
            try await stand.register(1)
            var pushes: [Push] = []
            for _ in 1...4 { pushes.append(try await stand.push(isHinted: false)) }
            try await stand.spread()
            let pages = try await stand.claim().sorted { $0.pushKey > $1.pushKey }
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            for (page, push) in zip(pages, pushes.reversed()) {
                try await stand.settle([page], isHinted: false)
                await stand.waitForLookers()
                stand.clock.advance(by: .seconds(1))
                let id = push.receiptID.uuidString.lowercased()
                await paper.read(until: #""receipt_id":"\#(id)","state":"settled""#)
            }
            #expect(!paper.text.contains("event: accepted"))
            #expect(paper.text.components("event: settled") == 4)
        }
    }

    @Test func `what a store in trouble could not tell is asked for again`() async throws {
        try await Newsstand.open { stand in
            try await stand.register(1)
            _ = try await stand.push(isHinted: false)
            try await stand.spread()
            let paper = Paper(try await stand.hub.subscribe(to: stand.application.key))
            try await stand.settleAll(isHinted: false)
            stand.store.isBlind = true
            await stand.waitForLookers()
            stand.clock.advance(by: .seconds(1))
            while stand.store.refusals == 0 { await Task.yield() }
            stand.store.isBlind = false
            await stand.waitForLookers()
            stand.clock.advance(by: .seconds(1))
            await paper.read(until: "event: settled")
        }
    }

    @Test func `there are no more readers than there may be, and one that goes makes room`() async throws {
        try await Newsstand.open(readersMax: 2) { stand in
            var readers = [
                try await stand.hub.subscribe(to: stand.application.key),
                try await stand.hub.subscribe(to: stand.application.key),
            ]
            let refusal = await #expect(throws: APIError.self) {
                try await stand.hub.subscribe(to: stand.application.key)
            }
            #expect(refusal?.status == .serviceUnavailable)
            readers.removeLast()
            readers.append(try await stand.hub.subscribe(to: stand.application.key))
            #expect(readers.count == 2)
        }
    }

    @Test func `a silent stream shows signs of life, and ends with the hub`() async throws {
        try await Newsstand.open { stand in
            let printed = Printer()
            let response = EventStream(try await stand.hub.subscribe(to: stand.application.key)).response
            #expect(response.headers[.contentType] == "text/event-stream")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await response.body.write(printed) }
                await printed.wait { $0.hasPrefix("retry") }
                for _ in 1...16 {
                    await stand.waitForLookers()
                    stand.clock.advance(by: .seconds(1))
                }
                await printed.wait { $0.hasSuffix("\n:\n\n") }
                stand.hub.close()
                try await group.waitForAll()
            }
            #expect(printed.isFinished)
        }
    }
}

/// A hub on a store in memory, with a clock that is moved by hand.
private struct Newsstand {
    let clock = HandClock()
    let store: BlinkingStore
    let hub: EventHub
    let application: BelfryCore.Application
    let platform: Platform

    static func open(
        ringMax: Int = 100, readersMax: Int = 100, stretch: Int = 100, openMax: Int = 100,
        _ body: (Newsstand) async throws -> Void
    ) async throws {
        var options = EventHub.Options()
        options.ringMax = ringMax
        options.readersMax = readersMax
        options.stretch = stretch
        options.openMax = openMax
        let stand = try await Newsstand(options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await stand.hub.run() }
            try await body(stand)
            stand.hub.close()
        }
    }

    private init(_ options: EventHub.Options) async throws {
        store = BlinkingStore(over: MemoryStore(clock: clock))
        hub = EventHub(store: store, clock: clock, logger: LogBook().logger, options: options)
        application = try await store.create(.test(GlassVault()))
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
        if isHinted { hub.noticed(push.head) }
        return push
    }

    func spread() async throws {
        for walk in try await store.claimWalks(atMost: 4, lanes: Lane.allCases, for: .seconds(60)) {
            let devices = try await store.devices(in: walk, after: nil, limit: 500)
            _ = try await store.advance(WalkStep(walk: walk, pages: [devices], isLast: true))
        }
    }

    func settleAll(isHinted: Bool = true) async throws {
        try await settle(claim(), isHinted: isHinted)
    }

    func claim() async throws -> [BelfryCore.Page] {
        try await store.claimPages(PageClaim(pagesMax: 4, roomElsewhere: 4, lease: .seconds(60)))
    }

    func settle(_ pages: [BelfryCore.Page], isHinted: Bool) async throws {
        for page in pages {
            let push = try await store.load(page)?.push
            let answers = page.answers.map { _ in Answer.accepted }
            _ = try await store.settle(Settlement(page: page, answers: answers, retryAt: nil))
            if let push, isHinted { hub.noticed(push.head) }
        }
    }

    /// Until the hub sleeps, so that the clock can wake it.
    func waitForLookers() async {
        while clock.sleepers == 0 { await Task.yield() }
    }
}

/// Tells no receipt while it is blind.
private final class BlinkingStore: WrappedStore {
    let base: any Store
    private let state = Mutex((isBlind: false, refusals: 0))

    init(over base: any Store) { self.base = base }

    var isBlind: Bool {
        get { state.withLock { $0.isBlind } }
        set { state.withLock { $0.isBlind = newValue } }
    }

    var refusals: Int { state.withLock { $0.refusals } }

    func receipt(_ receiptID: UUID) async throws -> Receipt? {
        let isBlind = state.withLock { state in
            if state.isBlind { state.refusals += 1 }
            return state.isBlind
        }
        guard !isBlind else { throw StoreError.unavailable("it blinks") }
        return try await base.receipt(receiptID)
    }
}

/// What a reader has read.
private final class Paper {
    private let reader: EventReader
    private var place: EventReader.Place
    private(set) var text = String(buffer: EventWire.greeting)

    init(_ reader: EventReader) {
        self.reader = reader
        place = reader.start
    }

    /// Reads on as it is woken, until the words were read.
    func read(until words: String) async {
        var ticks = reader.ticks.makeAsyncIterator()
        text += news()
        while !text.contains(words), await ticks.next(isolation: nil) != nil { text += news() }
    }

    func news() -> String {
        var news = ""
        while let next = reader.next(from: &place) { news += String(buffer: next) }
        return news
    }

    func forget() { text = "" }
}

/// Takes what a response writes.
private final class Printer: ResponseBodyWriter, Sendable {
    private let state = Mutex((text: "", isFinished: false))

    var isFinished: Bool { state.withLock { $0.isFinished } }

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
