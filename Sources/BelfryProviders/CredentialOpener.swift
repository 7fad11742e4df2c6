import BelfryService
import NIOPosix
import Synchronization

/// Opens credentials on threads of its own. A p12 file says itself how much work its keys are, at most a second of a core, which would
/// block an event loop.
struct CredentialOpener: Sendable {
    /// Opens credentials that are being entered. Each caller, each tenant and all together have a share.
    static let entered = CredentialOpener()
    /// Opens stored credentials, so that delivery never waits for those being entered.
    static let stored = CredentialOpener()

    private let threads: NIOThreadPool
    private let counts = Counts()

    private final class Counts: Sendable {
        let shares = Mutex(ShareCounts())
    }

    init() {
        threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
    }

    func open<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await threads.runIfActive(work)
    }

    /// Throws `ShareExceeded` when the holder has as many waiting as its share allows.
    func open<Value: Sendable>(
        for holder: ShareHolder, under limit: ShareLimit, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let excess = counts.shares.withLock { $0.take(1, of: .credentials, for: holder, under: limit) }
        if let excess { throw ShareExceeded(share: .credentials, excess: excess, limit: limit) }
        defer { counts.shares.withLock { $0.giveBack(1, of: .credentials, for: holder, under: limit) } }
        return try await open(work)
    }
}
