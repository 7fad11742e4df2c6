import BelfryKit
import UIKit
import UserNotifications

@main final class NewsAppDelegate: UIResponder, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    private let calls = (try? News.belfry()).map { belfry in
        AppDelegateCalls(belfry) { token in Registration(token: token, topics: ["news"]) }
    }

    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        calls?.didFinishLaunching()
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        Task { try? await calls?.didRegister(deviceToken: token) }
    }

    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        Task { await calls?.didFailToRegister(error) }
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        await calls?.didReceive(userInfo) ?? .noData
    }
}
