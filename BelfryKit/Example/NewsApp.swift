// An app that uses BelfryKit: add the file to a project of your own that depends on the package.
import BelfryKit
import Foundation
import UIKit
import UserNotifications

/// What an app delegate does, and nothing more: each of its calls forwards one.
@MainActor final class NewsAppDelegate {
    private let belfry: Belfry
    private let calls: AppDelegateCalls

    init() throws {
        let folder = FileManager.default.temporaryDirectory
        let configuration = BelfryConfiguration(
            server: URL(string: "https://push.example.org/") ?? folder, platform: UUID(),
            platformSecret: "from belfry platform create",
            folder: folder.appendingPathComponent("belfry"))
        let belfry = try Belfry(configuration, identity: KeychainIdentity(), legacy: PCFInstallation(in: .standard))
        self.belfry = belfry
        calls = AppDelegateCalls(belfry) { token in Registration(token: token, topics: ["news"], user: nil) }
    }

    func didFinishLaunching() { calls.didFinishLaunching() }

    func didRegister(deviceToken: Data) async {
        do {
            try await calls.didRegister(deviceToken: deviceToken)
        } catch {
            print("registered later: \(error)")
        }
    }

    func didReceive(_ userInfo: [AnyHashable: Any]) async -> UIBackgroundFetchResult {
        await calls.didReceive(userInfo)
    }

    func follow() async {
        for await change in await belfry.changes() { print(change) }
    }
}

/// The notification service extension.
final class NewsNotificationService: BelfryNotificationService {}
