import BelfryService
import HTTPTypes
import Hummingbird

extension APIError {
    /// The error for the caller. It reveals only what the caller can act on.
    package init(cause: any Error) {
        switch cause {
        case let error as APIError: self = error
        case let error as InvalidInput: self.init(.badRequest, error.description)
        case let error as StoreError: self.init(error)
        case let error as ShareExceeded: self = .excess(error.excess, of: error.share, error.limit)
        case is EditConflict:
            self.init(.preconditionFailed, "It was changed since you read it; read it again, and decide anew")
        case let error as BroadcastChannelError: self.init(error)
        case let error as any HTTPResponseError: self.init(error.status, error.status.reasonPhrase)
        default: self.init(.internalServerError, "The server failed; its log says why")
        }
    }

    /// A refusal by the provider, which the caller can correct.
    private init(_ error: BroadcastChannelError) {
        switch error {
        case .unsupported(let words), .refused(let words): self.init(.conflict, words)
        case .unknown: self.init(.notFound, "There is no such channel")
        case .unavailable(let words): self.init(.serviceUnavailable, words, headers: [.retryAfter: "30"])
        }
    }

    /// A retry helps only where the use of the quota decreases by itself.
    private init(_ excess: QuotaExcess) {
        guard let retryAfter = excess.quota.retryAfter else {
            self.init(.conflict, excess.description)
            return
        }
        self.init(
            .tooManyRequests, excess.description, headers: [.retryAfter: String(retryAfter.components.seconds)])
    }

    private init(_ error: StoreError) {
        switch error {
        case .unknown(let what): self.init(.notFound, "There is no \(what)")
        case .taken: self.init(.conflict, "That UUID is taken; give another, or none")
        case .conflict(let what): self.init(.conflict, what)
        case .unavailable:
            self.init(.serviceUnavailable, "The database cannot be used at present", headers: [.retryAfter: "5"])
        case .damaged:
            self.init(
                .internalServerError, "What is stored of it cannot be read; the server's log says which row and why")
        case .overloaded(let retryAfter):
            let seconds = max(1, (retryAfter.milliseconds + 999) / 1_000)
            self.init(
                .serviceUnavailable, "More work waits than the server takes; try again in \(seconds) s",
                headers: [.retryAfter: String(seconds)])
        case .quotaExceeded(let excess): self.init(excess)
        }
    }
}
