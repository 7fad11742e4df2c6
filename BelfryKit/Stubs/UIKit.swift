// The part of UIKit that BelfryKit uses, written from Apple's documentation, to check its types where there is no UIKit.
import Foundation

@MainActor open class UIApplication: NSObject {
    public static var shared: UIApplication { UIApplication() }
    public func registerForRemoteNotifications() {}
}

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }
