#if canImport(UserNotifications)
public import Foundation
public import UserNotifications

#if canImport(UserNotificationsUI)
public import UserNotificationsUI
#endif

/// The content for the view of a notification content extension: the words of a push, the picture that the service extension has
/// downloaded, and the app's own members of the payload.
public struct NotificationContent {
    public let title: String
    public let body: String
    /// nil where the service extension attached none.
    public let picture: Data?
    public let userInfo: [AnyHashable: Any]
}

#if canImport(UserNotificationsUI)
extension NotificationContent {
    /// Reads the notification of `didReceive(_:)` of a `UNNotificationContentExtension`.
    public init(_ notification: UNNotification) {
        let content = notification.request.content
        title = content.title
        body = content.body
        userInfo = content.userInfo
        picture = content.attachments.first.flatMap { Self.data(at: $0.url) }
    }

    /// The file is the system's, which lends it.
    private static func data(at url: URL) -> Data? {
        guard url.startAccessingSecurityScopedResource() else { return nil }
        defer { url.stopAccessingSecurityScopedResource() }
        return try? Data(contentsOf: url)
    }
}

extension Belfry {
    /// From `didReceive(_:completionHandler:)` of a `UNNotificationContentExtension`, for an action that the extension does by itself: counts the
    /// push as opened. An action that is forwarded to the app is counted there.
    nonisolated public func didAct(
        on response: UNNotificationResponse
    ) async -> UNNotificationContentExtensionResponseOption {
        guard let message = PushMessage(response.notification.request.content.userInfo) else { return .dismiss }
        do throws(BelfryError) {
            try await opened(receiptID: message.receiptID)
            try await resume()
        } catch {
            // The note is kept; the app sends it.
            return .dismiss
        }
        return .dismiss
    }
}
#endif
#endif
