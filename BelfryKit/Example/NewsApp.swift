// An app that uses BelfryKit: a new project of Xcode's with the package as its dependency, this file in place of its app delegate, and
// NewsNotificationService.swift in a target of its own. Both targets have the capability "App Groups", the app "Push Notifications" too.
import BelfryKit
import Foundation
import UIKit
import UserNotifications

@main final class NewsAppDelegate: UIResponder, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    /// nil where the app group is missing; the app works without pushes then.
    private let belfry = News.belfry()
    private lazy var calls = belfry.map { belfry in
        AppDelegateCalls(belfry) { token in
            Registration(token: token, topics: ["news"], encryptionKeys: try? News.messageKeys.deviceKeys())
        }
    }

    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        let centre = UNUserNotificationCenter.current()
        centre.delegate = self
        // Without this option the system does not report removed notifications.
        centre.setNotificationCategories([
            UNNotificationCategory(
                identifier: "news", actions: [], intentIdentifiers: [], options: .customDismissAction)
        ])
        calls?.didFinishLaunching()
        Task { await self.follow() }
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        // Listeners of `changes()` learn of a failure, and the next start tries again.
        Task { try? await self.calls?.didRegister(deviceToken: token) }
    }

    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        Task { await self.calls?.didFailToRegister(error) }
    }

    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        await calls?.didReceive(userInfo) ?? .noData
    }

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions {
        await calls?.willPresent(notification)
        return [.banner, .list, .sound]
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async {
        await calls?.didOpen(response)
    }

    /// Called by a button of the app, so that the system's question comes when its user expects it.
    func askForPermission() async -> Bool {
        (try? await UNUserNotificationCenter.current().requestAuthorization(options: [.alert, .badge, .sound])) ?? false
    }

    private func follow() async {
        guard let belfry else { return }
        for await change in await belfry.changes() {
            switch change {
            case .registered(let device): print("registered as \(device)")
            case .failed(let error): print("later: \(error)")
            default: print("\(change)")
            }
        }
    }
}
