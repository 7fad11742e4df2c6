package import BelfryCore
import FoundationEssentials
import HTTPTypes
package import Logging
import Metrics
import Synchronization

/// Tells readers what happens to the pushes of an application, as it happens.
///
/// Acceptance and delivery only drop a hint here (`Witness`), which costs them a look whether anybody reads. One task
/// reads the receipts. Of what other nodes do there is no hint: it is found by looking. A reader has a place in its
/// application's ring; the ring outlives its last reader for a while, so that one whose connection broke goes on where it was.
package final class EventHub: Witness {
    package struct Options: Sendable {
        package var readersMax = 256
        /// Events kept for each application that is read about.
        package var ringMax = 1_024
        /// Pushes followed at once for each application.
        package var openMax = 1_000
        /// How long an application's events are kept after its last reader went.
        package var memory = Duration.seconds(60)
        /// How often open pushes, and those accepted since, are looked at without a hint.
        package var look = Duration.seconds(1)
        /// How many of an application's pushes such a look reads at once, newest first, until it meets one that it knows.
        package var stretch = 100
        /// How long a stream may be silent. Below the time-outs that proxies have.
        package var heartbeat = Duration.seconds(15)

        package init() {}
    }

    let options: Options
    let clock: any WallClock
    /// Marks the numbers of this process, since they begin anew with each.
    let epoch: String
    private let store: any PushStore & ReceiptStore
    private let logger: Logger
    private let state = Mutex(State())
    private let calls: AsyncStream<Void>
    private let call: AsyncStream<Void>.Continuation
    private let readerMeter = Meter(metric: .eventReaders)

    fileprivate struct State {
        var rooms: [Key<BelfryCore.Application>: Newsroom] = [:]
        var readers: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastReader = 0
        var isClosed = false
    }

    package init(
        store: any PushStore & ReceiptStore, clock: any WallClock, logger: Logger, options: Options = Options()
    ) {
        self.store = store
        self.clock = clock
        self.logger = logger
        self.options = options
        epoch = String(UInt64.random(in: .min ... .max), radix: 36)
        (calls, call) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    package func noticed(_ push: PushHead) {
        let isRead = state.withLock { $0.rooms[push.applicationKey]?.noticed(push.receiptID) } != nil
        if isRead { call.yield() }
    }

    /// Works until it is cancelled or closed.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self.calls { await self.readReceipts() } }
            group.addTask { await self.lookNowAndThen() }
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

    private func readReceipts() async {
        while let push = state.withLock({ $0.nextChanged() }) {
            do {
                guard let receipt = try await store.receipt(push) else { continue }
                let readers = state.withLock { $0.saw(receipt) }
                for reader in readers { reader.yield() }
            } catch {
                // The push is looked at again while it is open.
                logger.debug("a receipt could not be read for its readers", metadata: ["error": "\(error)"])
            }
        }
    }

    private func lookNowAndThen() async {
        var beatAt = clock.now
        while (try? await clock.sleep(for: options.look)) != nil {
            let now = clock.now
            let isBeat = beatAt + options.heartbeat <= now
            if isBeat { beatAt = now }
            let (readers, applications) = state.withLock { state in
                state.forgetRooms(left: now + (.zero - options.memory))
                for key in state.rooms.keys { state.rooms[key]?.lookAgain() }
                return (isBeat ? Array(state.readers.values) : [], Array(state.rooms.keys))
            }
            for application in applications { await lookForNew(application) }
            call.yield()
            for reader in readers { reader.yield() }
        }
    }

    private func lookForNew(_ application: Key<BelfryCore.Application>) async {
        do {
            var newest: [UUID] = []
            var before: Key<Push>?
            repeat {
                let stretch = try await store.pushes(of: application, before: before, limit: options.stretch)
                newest += stretch.map(\.receiptID)
                before = stretch.count == options.stretch ? stretch.last?.key : nil
            } while before != nil && newest.count < options.openMax
                && state.withLock { $0.rooms[application]?.knowsNone(of: newest) } == true
            state.withLock { $0.rooms[application]?.found(newest) }
        } catch {
            logger.debug("new pushes could not be looked for", metadata: ["error": "\(error)"])
        }
    }
}

// MARK: - Readers

extension EventHub {
    /// Begins to read about an application.
    ///
    /// - Parameter lastID: the last event that the reader has; nil to hear what happens from now on.
    package func subscribe(
        to application: Key<BelfryCore.Application>, after lastID: String? = nil
    ) async throws -> EventReader {
        try await openRoom(for: application)
        let (ticks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let admitted = state.withLock { state -> (number: Int, last: Int64)? in
            guard !state.isClosed, state.readers.count < options.readersMax else { return nil }
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            var room = state.rooms[application] ?? Newsroom(options, newest: [], open: [])
            room.readers.insert(state.lastReader)
            room.leftAt = nil
            state.rooms[application] = room
            readerMeter.set(state.readers.count)
            return (state.lastReader, room.ring.last)
        }
        guard let admitted else {
            throw APIError(
                .serviceUnavailable, "\(options.readersMax) event streams are open, which is all there may be",
                headers: [.retryAfter: "10"])
        }
        // Something may be there to be read already.
        continuation.yield()
        return EventReader(
            hub: self, application: application, number: admitted.number, ticks: ticks,
            place: lastID.map(place(of:)) ?? .init(number: admitted.last, isKnown: true))
    }

    /// Unless there is one. Nobody reads in it yet.
    private func openRoom(for application: Key<BelfryCore.Application>) async throws {
        guard state.withLock({ $0.rooms[application] == nil }) else { return }
        let newest = try await store.receipts(of: application, before: nil, limit: options.stretch)
        let open = try await store.openReceipts(of: application, limit: options.openMax)
        let now = clock.now
        state.withLock { state in
            guard state.rooms[application] == nil else { return }
            state.rooms[application] = Newsroom(options, newest: newest, open: open)
            state.rooms[application]?.leftAt = now
        }
    }

    private func place(of lastID: String) -> EventReader.Place {
        let parts = lastID.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == epoch, let number = Int64(parts[1]), number >= 0 else {
            return .init(number: 0, isKnown: false)
        }
        return .init(number: number, isKnown: true)
    }

    func read(_ application: Key<BelfryCore.Application>, after place: Int64) -> EventRing<PushEvent>.Reading? {
        state.withLock { $0.rooms[application]?.ring.read(after: place, atMost: 64) }
    }

    func leave(_ number: Int, _ application: Key<BelfryCore.Application>) {
        let now = clock.now
        state.withLock { state in
            state.readers[number] = nil
            state.rooms[application]?.readers.remove(number)
            if state.rooms[application]?.readers.isEmpty == true { state.rooms[application]?.leftAt = now }
            readerMeter.set(state.readers.count)
        }
    }
}

extension EventHub.State {
    mutating func nextChanged() -> UUID? {
        for key in rooms.keys {
            if let push = rooms[key]?.nextChanged() { return push }
        }
        return nil
    }

    /// Returns the readers to wake.
    mutating func saw(_ receipt: Receipt) -> [AsyncStream<Void>.Continuation] {
        let key = receipt.push.applicationKey
        guard rooms[key]?.saw(receipt) == true else { return [] }
        return rooms[key]?.readers.compactMap { readers[$0] } ?? []
    }

    mutating func forgetRooms(left limit: Instant) {
        rooms = rooms.filter { room in room.value.leftAt.map { $0 > limit } ?? true }
    }
}
