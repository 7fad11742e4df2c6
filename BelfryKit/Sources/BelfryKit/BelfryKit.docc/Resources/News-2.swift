import BelfryKit
import Foundation

enum News {
    static let configuration = BelfryConfiguration(
        server: URL(string: "https://push.example.org/")!, platform: UUID(uuidString: "PLATFORM_UUID")!,
        platformSecret: "PLATFORM_SECRET",
        folder: FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            .appendingPathComponent("belfry"))

    static func belfry() throws(BelfryError) -> Belfry {
        try Belfry(configuration, identity: KeychainIdentity())
    }
}
