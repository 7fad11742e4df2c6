package import FoundationEssentials
import HTTPTypes
package import Logging
import Synchronization

/// Does work once under a name, and keeps its result sealed.
///
/// The name is reserved first (`Store.reserve`). Work that was refused, and so had no effect, frees it.
package struct DoneOnce: Sendable {
    package let store: any Store
    let vault: any Vault

    /// Longer than any request takes.
    package static let hold = Duration.seconds(35)

    /// A name that is held by one request.
    package struct Holder: Sendable {
        package let name: [UInt8]
        package let id: UUID
        /// Whether an earlier run of the request was interrupted, and may have had its effect.
        package let isRepetition: Bool
        let logger: Logger

        package init(_ name: [UInt8], _ id: UUID, isRepetition: Bool = false, _ logger: Logger) {
            self.name = name
            self.id = id
            self.isRepetition = isRepetition
            self.logger = logger
        }
    }

    /// Does the work, and frees the name if it fails.
    package func perform<Answer>(_ holder: Holder, _ work: () async throws -> Answer) async throws -> Answer {
        do {
            return try await work()
        } catch {
            await release(holder, hadNoEffect: error.isRefusal)
            throw error
        }
    }

    /// Keeps a result for repeated requests; false where it cannot be kept, which undoes nothing.
    @discardableResult
    package func keep(_ content: [UInt8], status: Int, for holder: Holder) async -> Bool {
        do {
            let sealed = try vault.seal(content, for: VaultPurpose.answer(to: holder.name))
            try await store.complete(
                holder.name, idempotentID: holder.id, with: StoredResponse(status: status, content: sealed))
            return true
        } catch {
            holder.report(error)
            return false
        }
    }

    /// The result that was kept.
    package func content(of answer: StoredResponse, to name: [UInt8]) throws -> [UInt8] {
        try vault.open(answer.content, for: VaultPurpose.answer(to: name))
    }

    /// A name that cannot be released is free when its hold ends.
    package func release(_ holder: Holder, hadNoEffect: Bool) async {
        do {
            try await store.release(
                holder.name, idempotentID: holder.id, hadNoEffect: hadNoEffect && !holder.isRepetition)
        } catch {
            holder.report(error)
        }
    }
}

extension DoneOnce.Holder {
    fileprivate func report(_ error: any Error) {
        logger.warning("the record of what is done once was not written", metadata: ["error": "\(error)"])
    }
}

extension Error {
    /// Whether the request was refused before it had an effect.
    fileprivate var isRefusal: Bool {
        if case .overloaded = self as? StoreError { return true }
        return APIError(cause: self).status.kind == .clientError
    }
}

/// Tells what happened before, so that the log has a line for each of many like events.
///
/// It remembers a bounded number: then it forgets all, and the log gets a line again.
final class LogOnce<Value: Hashable & Sendable>: Sendable {
    private let seen = Mutex<Set<Value>>([])
    private let countMax: Int

    init(countMax: Int = 4_096) { self.countMax = countMax }

    /// Whether it is the first time.
    func isFirst(_ value: Value) -> Bool {
        seen.withLock { seen in
            if seen.count >= countMax { seen.removeAll() }
            return seen.insert(value).inserted
        }
    }

    func forget(_ value: Value) { seen.withLock { _ = $0.remove(value) } }
}
