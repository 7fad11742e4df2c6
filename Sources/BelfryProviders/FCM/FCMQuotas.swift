package import BelfryService
import FCM
import Synchronization

/// The quotas of projects: platforms of the same project share one, and so do nodes.
package final class FCMQuotas: Sendable {
    private struct State {
        var quotas: [String: (quota: FCMQuota, perMinute: Int)] = [:]
        var share = NodeShare.whole
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets this node's share of the limit.
    package func take(_ share: NodeShare) {
        state.withLock { state in
            guard share != state.share else { return }
            state.share = share
            for (quota, perMinute) in state.quotas.values { quota.change(perMinute: share.part(of: perMinute)) }
        }
    }

    /// - Parameter perMinute: the project's limit, for all nodes together.
    func quota(of project: String, perMinute: Int) -> FCMQuota {
        state.withLock { state in
            if let known = state.quotas[project] { return known.quota }
            let quota = FCMQuota(perMinute: state.share.part(of: perMinute))
            state.quotas[project] = (quota, perMinute)
            return quota
        }
    }
}
