// Shared by the app and its extension.
import BelfryKit
import Foundation
import UIKit

enum News {
    /// nil where the app group is missing.
    static var configuration: BelfryConfiguration? {
        let folder = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.org.example.news")
        guard let folder, let server = URL(string: "https://push.example.org/"),
            let platform = UUID(uuidString: "00000000-0000-0000-0000-000000000000")
        else { return nil }
        return BelfryConfiguration(
            server: server, platform: platform, platformSecret: "from belfry platform create",
            folder: folder.appendingPathComponent("belfry"), signer: signed)
    }

    /// Of a keychain group that the extension has too.
    static let messageKeys = SecureEnclaveKeys(accessGroup: "ABCDE12345.org.example.news")

    static func belfry() -> Belfry? {
        guard let configuration else { return nil }
        return try? Belfry(configuration, identity: KeychainIdentity(), legacy: PCFInstallation(in: .standard))
    }

    /// Asks the app's own back end, which has the application's shared secret.
    private static func signed(_ user: String) async throws -> String {
        var address = URLComponents(string: "https://www.example.org/push/signed-user")
        address?.queryItems = [URLQueryItem(name: "user", value: user)]
        guard let url = address?.url else { throw URLError(.badURL) }
        let (data, _) = try await URLSession.shared.data(from: url)
        return String(decoding: data, as: UTF8.self)
    }
}
