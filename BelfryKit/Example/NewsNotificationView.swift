// The notification content extension: its own view of a push. A view controller of the storyboard conforms to the protocol.
import BelfryKit
import Foundation
import UserNotifications
import UserNotificationsUI

final class NewsNotificationView: NSObject, UNNotificationContentExtension {
    private(set) var shown: NotificationContent?

    func didReceive(_ notification: UNNotification) { shown = NotificationContent(notification) }

    func didReceive(
        _ response: UNNotificationResponse,
        completionHandler completion: @escaping (UNNotificationContentExtensionResponseOption) -> Void
    ) {
        // What the app does itself is forwarded to it, and counted there.
        completion(.dismissAndForwardAction)
    }
}
