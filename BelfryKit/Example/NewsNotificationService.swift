// The notification service extension: encrypted messages, pictures, and a count of what arrived while the app did not run.
import BelfryKit

final class NewsNotificationService: BelfryNotificationService {
    override var configuration: BelfryConfiguration? { News.configuration }
    override var messageKeys: (any MessageKeys)? { News.messageKeys }
}
