import FoundationEssentials
import HTTPTypes
package import Logging
import Metrics
import NIOCore
import Synchronization

/// Streams the events of an application's pushes to readers.
///
/// It counts accepted pushes. Acceptance and delivery only drop a hint here (`PushObserver`), at the cost of checking whether there are readers.
/// One task reads the receipts. There is no hint for what other nodes do: it is found by polling. A reader has a position in its
/// application's ring; the ring outlives its last reader for a while, so that a reader whose connection broke continues where it was.
package final class EventHub: PushObserver {
    package struct Options: Sendable {
        package var readersMax = 256
        /// Events kept for each application with readers.
        package var ringMax = 1_024
        /// Pushes followed at once for each application.
        package var openMax = 1_000
        /// How long an application's events are kept after its last reader left.
        package var memory = Duration.seconds(60)
        /// How often open pushes, and those accepted since, are polled.
        package var look = Duration.seconds(1)
        /// How many of an application's pushes such a poll reads at once, newest first, until it meets one that it knows.
        package var stepSize = 100
        /// How long a stream may be silent. Shorter than the time-outs of proxies.
        package var heartbeat = Duration.seconds(15)

        package init() {}
    }

    let options: Options
    let clock: any WallClock
    /// Marks the event numbers of this process, since each process starts again at one.
    let epoch: String
    private let store: any Store
    private let logger: Logger
    /// Gets the same hints; nil where nothing else wants them.
    private let tracer: (any PushObserver)?
    private let state = Mutex(State())
    private let calls: AsyncStream<Void>
    private let call: AsyncStream<Void>.Continuation
    private let readerMeter = Meter(metric: .eventReaders)
    private let acceptedPushes = AcceptedPushCounter()

    fileprivate struct State {
        var logs: [Key<BelfryService.Application>: EventLog] = [:]
        var readers: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastReader = 0
        /// Applications due for a scan without a hint.
        var unlooked: Set<Key<BelfryService.Application>> = []
        var isClosed = false
    }

    package init(
        store: any Store, clock: any WallClock, logger: Logger, options: Options = Options(),
        tracer: (any PushObserver)? = nil
    ) {
        self.tracer = tracer
        self.store = store
        self.clock = clock
        self.logger = logger
        self.options = options
        epoch = String(UInt64.random(in: .min ... .max), radix: 36)
        (calls, call) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    package func accepted(_ push: PushHead) {
        acceptedPushes.accepted(push)
        tracer?.accepted(push)
        pushMayHaveChanged(push)
    }

    package func pushMayHaveChanged(_ push: PushHead) {
        let isRead = state.withLock { $0.logs[push.applicationKey]?.noticed(push.receiptID) } != nil
        if isRead { call.yield() }
        tracer?.pushMayHaveChanged(push)
    }

    /// Works until it is cancelled or closed.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.calls { await self.read() } }
            group.addTask { await self.callNowAndThen() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Ends every stream.
    package func close() {
        let readers = state.withLock { state in
            state.isClosed = true
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
        call.finish()
    }

    /// One after the other, so that no receipt is reported after a later one.
    private func read() async {
        while let application = state.withLock({ $0.unlooked.popFirst() }) { await look(at: application) }
        while let (application, push) = state.withLock({ $0.nextChanged() }) {
            do {
                guard let receipt = try await store.receipt(push) else { continue }
                wake(state.withLock { $0.tell(application) { $0.saw([receipt]) } })
            } catch {
                logger.debug("a receipt could not be read for its readers", metadata: ["error": "\(error)"])
                // At the next call.
                return state.withLock { $0.logs[application]?.noticed(push) ?? () }
            }
        }
    }

    private func callNowAndThen() async {
        var beatAt = clock.now
        while (try? await clock.sleep(for: options.look)) != nil {
            let now = clock.now
            let isBeat = beatAt + options.heartbeat / 2 <= now
            if isBeat { beatAt = now }
            let readers = state.withLock { state in
                state.forgetLogs(left: now + (.zero - options.memory))
                state.unlooked = Set(state.logs.keys)
                return isBeat ? Array(state.readers.values) : []
            }
            call.yield()
            wake(readers)
        }
    }

    private func wake(_ readers: [AsyncStream<Void>.Continuation]) {
        for reader in readers { reader.yield() }
    }

    /// Polls the open pushes of an application, and those accepted since.
    private func look(at application: Key<BelfryService.Application>) async {
        do {
            let open = try await store.openReceipts(of: application, limit: options.openMax)
            wake(state.withLock { $0.tell(application) { $0.looked(at: open) } })
            var newest: [UUID] = []
            var before: Key<Push>?
            repeat {
                let stepSize = try await store.pushes(of: application, before: before, limit: options.stepSize)
                newest += stepSize.map(\.receiptID)
                before = stepSize.count == options.stepSize ? stepSize.last?.key : nil
            } while before != nil && newest.count < options.openMax
                && state.withLock { $0.logs[application]?.knowsNone(of: newest) } == true
            state.withLock { $0.logs[application]?.found(newest) }
        } catch {
            logger.debug("pushes could not be looked at for their readers", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Readers

    /// Starts reading the events of an application.
    ///
    /// - Parameter lastID: the last event that the reader has; nil to read from now on.
    package func subscribe(
        to application: Key<BelfryService.Application>, after lastID: String? = nil
    ) async throws -> EventReader {
        try await openLog(for: application)
        let (ticks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let admitted = state.withLock { state -> (number: Int, last: Int64)? in
            guard !state.isClosed, state.readers.count < options.readersMax else { return nil }
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            var log = state.logs[application] ?? EventLog(options, newest: [], open: [])
            log.readers.insert(state.lastReader)
            log.leftAt = nil
            state.logs[application] = log
            readerMeter.set(state.readers.count)
            return (state.lastReader, log.ring.last)
        }
        guard let admitted else {
            throw APIError(
                .serviceUnavailable, "\(options.readersMax) event streams are open, which is the limit",
                headers: [.retryAfter: "10"])
        }
        // There may be something to read already.
        continuation.yield()
        return EventReader(
            hub: self, application: application, number: admitted.number, ticks: ticks,
            place: lastID.map { place(of: $0, upTo: admitted.last) } ?? .init(number: admitted.last, isKnown: true))
    }

    /// Unless there is one. It has no reader yet.
    private func openLog(for application: Key<BelfryService.Application>) async throws {
        guard state.withLock({ $0.logs[application] == nil }) else { return }
        let newest = try await store.receipts(of: application, before: nil, limit: options.stepSize)
        let open = try await store.openReceipts(of: application, limit: options.openMax)
        let now = clock.now
        state.withLock { state in
            guard state.logs[application] == nil else { return }
            state.logs[application] = EventLog(options, newest: newest, open: open)
            state.logs[application]?.leftAt = now
        }
    }

    /// - Parameter last: the newest event; a larger number was never issued.
    private func place(of lastID: String, upTo last: Int64) -> EventReader.Place {
        let parts = lastID.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == epoch, let number = Int64(parts[1]), 0...last ~= number else {
            return .init(number: 0, isKnown: false)
        }
        return .init(number: number, isKnown: true)
    }

    func read(_ application: Key<BelfryService.Application>, after place: Int64) -> EventRing<PushEvent>.Reading? {
        state.withLock { $0.logs[application]?.ring.read(after: place, atMost: 64) }
    }

    func leave(_ number: Int, _ application: Key<BelfryService.Application>) {
        let now = clock.now
        state.withLock { state in
            state.readers[number] = nil
            state.logs[application]?.readers.remove(number)
            if state.logs[application]?.readers.isEmpty == true { state.logs[application]?.leftAt = now }
            readerMeter.set(state.readers.count)
        }
    }
}

extension EventHub.State {
    mutating func nextChanged() -> (application: Key<BelfryService.Application>, push: UUID)? {
        for key in logs.keys {
            if let push = logs[key]?.nextChanged() { return (key, push) }
        }
        return nil
    }

    /// Returns the readers to wake, if there are new events.
    mutating func tell(
        _ application: Key<BelfryService.Application>, _ update: (inout EventLog) -> Bool
    ) -> [AsyncStream<Void>.Continuation] {
        guard var log = logs[application] else { return [] }
        logs[application] = nil
        let isNew = update(&log)
        logs[application] = log
        return isNew ? log.readers.compactMap { readers[$0] } : []
    }

    mutating func forgetLogs(left limit: Instant) {
        logs = logs.filter { log in log.value.leftAt.map { $0 > limit } ?? true }
    }
}

/// One reader of an application's events, with its position. The reader leaves when this is released.
package final class EventReader: Sendable {
    private let hub: EventHub
    private let application: Key<Application>
    private let number: Int
    /// Wakes the reader: there may be new events, or a heartbeat is due. Ends with the hub.
    let ticks: AsyncStream<Void>
    let start: Place

    struct Place: Sendable {
        var number: Int64
        /// Whether this process issued it; the number of events missed since another position is unknown.
        var isKnown: Bool
    }

    private static let lost = Counter(metric: .eventsLost)

    init(hub: EventHub, application: Key<Application>, number: Int, ticks: AsyncStream<Void>, place: Place) {
        self.hub = hub
        self.application = application
        self.number = number
        self.ticks = ticks
        start = place
    }

    deinit { hub.leave(number, application) }

    var heartbeat: Duration { hub.options.heartbeat }
    var now: Instant { hub.clock.now }

    /// The next events in their wire form, preceded by a note about lost ones; moves the position past them. nil when there are none.
    func next(from place: inout Place) -> ByteBuffer? {
        guard let reading = hub.read(application, after: place.number) else { return nil }
        var wire = EventWire()
        if !place.isKnown {
            wire.lost(nil)
        } else if reading.lost > 0 {
            Self.lost.increment(by: reading.lost)
            wire.lost(reading.lost)
        }
        place.isKnown = true
        place.number = max(place.number + reading.lost, reading.events.last?.number ?? place.number)
        for (number, event) in reading.events { wire.event(event, id: "\(hub.epoch)-\(number)") }
        return wire.buffer.readableBytes > 0 ? wire.buffer : nil
    }
}
