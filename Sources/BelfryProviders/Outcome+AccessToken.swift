import BelfryCore
import HTTPExchange

extension Outcome {
    /// Nothing was sent: there was no token to send it with.
    init(_ error: AccessTokenError) {
        self = error.isRefusal ? .barred(error.reason) : .failed(retryAfter: error.retryAfter)
    }
}
