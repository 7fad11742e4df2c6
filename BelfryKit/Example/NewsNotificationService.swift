// The notification service extension: pictures, and a count of what arrived while the app did not run.
import BelfryKit

final class NewsNotificationService: BelfryNotificationService {
    override var configuration: BelfryConfiguration? { News.configuration }
}
