package import BelfryService
import Foundation

/// The old server that gets registrations too during a dual run.
///
/// Keys: `mirror.url` (the old server; empty for none), `mirror.apps` (UUIDs of applications with commas between them; empty for all),
/// `mirror.secrets.file` (lines of a platform's UUID, a space and its secret there), `mirror.trust.root.file` (certificates to trust
/// instead of the system's).
package struct MirrorConfiguration: Sendable {
    package let url: String
    package let applications: MirroredApplications
    let secrets: [UUID: String]
    let trustRootFile: String?

    /// nil where no old server is named.
    init?(_ settings: Settings) {
        guard let url = settings.optionalString("mirror.url"), !url.isEmpty else {
            for key in ["mirror.secrets.file", "mirror.trust.root.file"] { _ = settings.optionalString(key) }
            _ = settings.words("mirror.apps")
            return nil
        }
        if !url.hasPrefix("https://"), !url.hasPrefix("http://") {
            settings.note("mirror.url is `\(url.quotable)`, it has to be https://host")
        }
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        trustRootFile = settings.optionalString("mirror.trust.root.file")
        applications = Self.applications(settings)
        secrets = Self.secrets(settings)
    }

    private static func applications(_ settings: Settings) -> MirroredApplications {
        let words = settings.words("mirror.apps").filter { !$0.isEmpty }
        guard !words.isEmpty else { return .all }
        return .some(
            Set(
                words.compactMap { word in
                    guard let uuid = UUID(uuidString: word) else {
                        settings.note("mirror.apps has `\(word.quotable)`, which is no UUID")
                        return nil
                    }
                    return uuid
                }))
    }

    private static func secrets(_ settings: Settings) -> [UUID: String] {
        guard let path = settings.optionalString("mirror.secrets.file") else {
            settings.note("mirror.url needs mirror.secrets.file, the platforms' secrets on the old server")
            return [:]
        }
        guard let data = settings.contents("mirror.secrets.file", path) else { return [:] }
        var secrets: [UUID: String] = [:]
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split { " ,\t".contains($0) }
            guard parts.count == 2, let uuid = UUID(uuidString: String(parts[0])) else {
                settings.note(
                    "mirror.secrets.file has a line that is no UUID, a space and a secret")
                return [:]
            }
            secrets[uuid] = String(parts[1])
        }
        return secrets
    }
}
