// The part of UIKit that BelfryKit uses, written from Apple's documentation, to check its types where there is no UIKit.
@_exported import Foundation
@_exported import FoundationNetworking

@MainActor open class UIResponder: NSObject {
    nonisolated public override init() {}
}

@MainActor open class UIApplication: UIResponder {
    public static var shared: UIApplication { UIApplication() }
    public func registerForRemoteNotifications() {}

    public struct LaunchOptionsKey: Hashable, Sendable {}
}

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    init()
    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data)
    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}

extension UIApplicationDelegate {
    public static func main() {}
}

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

// Foundation has this on Apple's systems alone.
extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}
