import BelfryKit
import UIKit
import UserNotifications

@main final class NewsAppDelegate: UIResponder, UIApplicationDelegate, UNUserNotificationCenterDelegate {
    private let calls = (try? News.belfry()).map { belfry in
        AppDelegateCalls(belfry) { token in Registration(token: token, topics: ["news"]) }
    }
}
