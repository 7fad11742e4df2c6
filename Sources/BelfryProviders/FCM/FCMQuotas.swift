import FCM
import Synchronization

/// The quotas of the projects that are sent for: platforms of the same project share one.
package final class FCMQuotas: Sendable {
    private let quotas = Mutex<[String: FCMQuota]>([:])

    package init() {}

    func quota(of project: String, perMinute: Int) -> FCMQuota {
        quotas.withLock { quotas in
            if let quota = quotas[project] { return quota }
            let quota = FCMQuota(perMinute: perMinute)
            quotas[project] = quota
            return quota
        }
    }
}
