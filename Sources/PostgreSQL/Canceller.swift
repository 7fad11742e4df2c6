import CPostgreSQL
import Dispatch
import Synchronization

/// Asks the server to cancel what a connection is doing, from any thread.
final class Canceller: Sendable {
    // SAFETY: made once; PQcancel may be called from any thread, and never changes it.
    private nonisolated(unsafe) let handle: OpaquePointer?
    /// Whether there is something to cancel. Held while the server is asked, so that nothing else begins meanwhile.
    private let isAtWork = Mutex(false)

    private static let queue = DispatchQueue(label: "postgresql.cancel", attributes: .concurrent)

    init(_ connection: Connection) { handle = PQgetCancel(connection.handle) }

    deinit { PQfreeCancel(handle) }

    func begin() { isAtWork.withLock { $0 = true } }

    func end() { isAtWork.withLock { $0 = false } }

    /// Returns at once; the statement then fails with `SQLState.queryCanceled`, unless it was done already.
    func cancel() {
        Self.queue.async {
            self.isAtWork.withLock { isAtWork in
                guard isAtWork else { return }
                var words = [CChar](repeating: 0, count: 256)
                _ = PQcancel(self.handle, &words, Int32(words.count))
            }
        }
    }
}
