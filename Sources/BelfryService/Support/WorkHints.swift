import Synchronization

/// The kinds of work that can fall due.
package struct DueWork: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let fanOuts = DueWork(rawValue: 1)
    package static let batches = DueWork(rawValue: 2)
    package static let schedules = DueWork(rawValue: 4)
    package static let webhooks = DueWork(rawValue: 8)
    package static let all: DueWork = [.fanOuts, .batches, .schedules, .webhooks]
}

/// Notifies listeners, in the order they subscribed, that something may have fallen due; the order lets a simulation be
/// repeated. Signals that were not read yet count as one. For stores.
package final class WorkHints: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextID = 0
        var isClosed = false

        var inOrder: [Listener] { listeners.sorted { $0.key < $1.key }.map(\.value) }
    }

    private struct Listener {
        let work: DueWork
        let stream: AsyncStream<Void>.Continuation
    }

    private let state = Mutex(State())

    package init() {}

    package func stream(of work: DueWork) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            state.nextID += 1
            state.listeners[state.nextID] = Listener(work: work, stream: continuation)
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    package func fire(_ work: DueWork) {
        for listener in state.withLock({ $0.inOrder }) where !listener.work.isDisjoint(with: work) {
            listener.stream.yield()
        }
    }

    package func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return state.inOrder
        }
        for listener in listeners { listener.stream.finish() }
    }
}
