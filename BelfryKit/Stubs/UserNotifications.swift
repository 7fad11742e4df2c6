// The part of UserNotifications that BelfryKit uses, written from Apple's documentation.
import Foundation

open class UNNotificationContent: NSObject, NSMutableCopying {
    open var userInfo: [AnyHashable: Any] { [:] }
    open var attachments: [UNNotificationAttachment] { [] }
    open func mutableCopy(with zone: NSZone? = nil) -> Any { UNMutableNotificationContent() }
}

open class UNMutableNotificationContent: UNNotificationContent {
    private var held: [UNNotificationAttachment] = []
    open override var attachments: [UNNotificationAttachment] {
        get { held }
        set { held = newValue }
    }
}

open class UNNotificationAttachment: NSObject {
    public convenience init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws { self.init() }
}

open class UNNotificationRequest: NSObject {
    open var content: UNNotificationContent { UNNotificationContent() }
}

open class UNNotification: NSObject {
    open var request: UNNotificationRequest { UNNotificationRequest() }
}

open class UNNotificationResponse: NSObject {
    open var notification: UNNotification { UNNotification() }
    open var actionIdentifier: String { "" }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
