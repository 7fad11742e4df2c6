import Synchronization

/// Lets callers who request the same thing at the same time share the work of the first.
///
/// A caller who leaves ends only its own waiting: another one does the work then.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The end of a wait.
    private enum Ending {
        case value(Value)
        case failed(any Error)
        /// The first caller left, or was done before the wait began.
        case again
    }

    private let flights = Mutex<[Key: [Int: CheckedContinuation<Ending, Never>]]>([:])
    private let tickets = Atomic(0)

    package init() {}

    package func value(for key: Key, _ work: () async throws -> Value) async throws -> Value {
        while true {
            let isFirst = flights.withLock { flights in
                guard flights[key] == nil else { return false }
                flights[key] = [:]
                return true
            }
            if isFirst { return try await lead(key, work) }
            switch await wait(for: key) {
            case .value(let value): return value
            case .failed(let error): throw error
            case .again: try Task.checkCancellation()
            }
        }
    }

    private func lead(_ key: Key, _ work: () async throws -> Value) async throws -> Value {
        do {
            let value = try await work()
            end(key, .value(value))
            return value
        } catch {
            end(key, error is CancellationError || Task.isCancelled ? .again : .failed(error))
            throw error
        }
    }

    private func end(_ key: Key, _ ending: Ending) {
        let waiting = flights.withLock { $0.removeValue(forKey: key) } ?? [:]
        for continuation in waiting.values { continuation.resume(returning: ending) }
    }

    private func wait(for key: Key) async -> Ending {
        let ticket = tickets.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = flights.withLock { flights in
                    guard flights[key] != nil, !Task.isCancelled else { return false }
                    flights[key]?[ticket] = continuation
                    return true
                }
                if !waits { continuation.resume(returning: .again) }
            }
        } onCancel: {
            flights.withLock { $0[key]?.removeValue(forKey: ticket) }?.resume(returning: .again)
        }
    }
}
