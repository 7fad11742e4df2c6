import Synchronization

/// Signals all listeners, in the order they subscribed, that something may be due. Signals not yet consumed count as
/// one. The order makes simulations repeatable. For stores.
package final class WorkHints: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextID = 0
        var isClosed = false

        var inOrder: [AsyncStream<Void>.Continuation] { listeners.sorted { $0.key < $1.key }.map(\.value) }
    }

    private let state = Mutex(State())

    package init() {}

    package func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            state.nextID += 1
            state.listeners[state.nextID] = continuation
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

    package func fire() {
        for listener in state.withLock({ $0.inOrder }) { listener.yield() }
    }

    package func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return state.inOrder
        }
        for listener in listeners { listener.finish() }
    }
}
