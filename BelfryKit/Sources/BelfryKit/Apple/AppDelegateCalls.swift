#if canImport(UIKit) && canImport(UserNotifications)
public import Foundation
public import UIKit
public import UserNotifications

/// The six calls that an app delegate and a notification centre's delegate forward. Nothing is swizzled: calls that are not forwarded
/// have no effect.
@MainActor
public struct AppDelegateCalls {
    private let belfry: Belfry
    private let wish: @Sendable (_ token: String) async -> Registration

    /// - Parameters:
    ///   - belfry: of the app.
    ///   - wish: what the app wants to be registered as, once it has a token.
    public init(_ belfry: Belfry, wish: @escaping @Sendable (_ token: String) async -> Registration) {
        self.belfry = belfry
        self.wish = wish
    }

    /// Handles `application(_:didFinishLaunchingWithOptions:)`.
    public func didFinishLaunching() {
        UIApplication.shared.registerForRemoteNotifications()
        let belfry = belfry
        Task { try? await belfry.resume() }
    }

    /// Handles `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public func didRegister(deviceToken: Data) async throws(BelfryError) {
        try await belfry.register(await wish(AppleToken.hex(deviceToken)))
    }

    /// Handles `application(_:didFailToRegisterForRemoteNotificationsWithError:)`.
    public func didFailToRegister(_ error: any Error) async {
        await belfry.tell(.failed(.unreachable("\(error)")))
    }

    /// Handles `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`. Its result is for the handler.
    public func didReceive(_ userInfo: [AnyHashable: Any]) async -> UIBackgroundFetchResult {
        if userInfo["pivotal.push.geofence_update_available"] != nil {
            do throws(BelfryError) { try await belfry.updateGeofences() } catch { return .failed }
            return .newData
        }
        if let retraction = PushRetraction(userInfo) {
            UNUserNotificationCenter.current().removeDeliveredNotifications(withIdentifiers: [retraction.identifier])
            return .newData
        }
        guard let message = PushMessage(userInfo) else { return .noData }
        do throws(BelfryError) {
            try await belfry.received(message)
            try await belfry.resume()
            return .newData
        } catch {
            return .failed
        }
    }

    /// Handles `userNotificationCenter(_:willPresent:withCompletionHandler:)`.
    public func willPresent(_ notification: UNNotification) async {
        _ = await didReceive(notification.request.content.userInfo)
    }

    /// Handles `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    ///
    /// The system reports a removed notification only if its category has the option `customDismissAction`.
    public func didOpen(_ response: UNNotificationResponse) async {
        guard let message = PushMessage(response.notification.request.content.userInfo) else { return }
        do throws(BelfryError) {
            if response.actionIdentifier == UNNotificationDismissActionIdentifier {
                try await belfry.dismissed(receiptID: message.receiptID)
            } else {
                try await belfry.opened(receiptID: message.receiptID)
            }
            try await belfry.resume()
        } catch {
            // The notes are kept, and listeners were notified.
            return
        }
    }
}
#endif
