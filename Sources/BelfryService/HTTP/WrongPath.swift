/// Suggests what is wrong with an unknown path, for the developer who reads the response.
enum WrongPath {
    static func explained(_ path: String) -> String {
        let parts = path.split(separator: "/").map(String.init)
        let guess =
            prefixed(parts) ?? versionTwice(parts) ?? dashboard(parts) ?? admin(parts) ?? misspelled(parts) ?? overview
        return "There is nothing at this path. \(guess)"
    }

    private static let overview =
        "SDKs register at '/v1/registration', senders post to '/v1/push'; check the service URL and the version in the "
        + "path. '/openapi.yaml' lists every path"

    /// The versions of each resource. Source: docs/compatibility/pcf.md, "What is served".
    private static let versions = [
        "push": "v1", "registration": "v1", "registrations": "v2", "schedules": "v1", "schedule": "v1", "topics": "v2",
        "custom_user_ids": "v2", "geofence": "v1", "geofences": "v1", "locations": "v1", "location_groups": "v1",
        "analytics": "v1", "version": "v1", "tags": "v1",
    ]

    /// Common mistakes; `geofence` and `geofences` are both right.
    private static let commonMistakes = [
        "pushes": "push", "device": "registration", "devices": "registrations", "topic": "topics",
        "custom_user_id": "custom_user_ids", "location": "locations", "location_group": "location_groups",
        "tag": "tags", "analytic": "analytics", "health": "healthcheck",
    ]

    private static func isVersion(_ part: String) -> Bool { ["v1", "v2"].contains(part.lowercased()) }

    /// The service URL of an SDK or sender contains a path.
    private static func prefixed(_ parts: [String]) -> String? {
        guard var root = parts.firstIndex(where: isVersion), root > 0 else { return nil }
        if parts[root - 1] == "admin" { root -= 1 }
        guard root > 0 else { return nil }
        return
            "The API stands at the root of the host: take '/\(joined(parts[..<root]))' out of the service URL of the "
            + "SDK or sender, so that it asks for '/\(joined(parts[root...]))'"
    }

    /// The service URL ends in a version, and the SDK adds its own.
    private static func versionTwice(_ parts: [String]) -> String? {
        guard parts.count > 1, isVersion(parts[0]), isVersion(parts[1]) else { return nil }
        return "The version stands twice: take '/\(parts[0])' out of the service URL of the SDK or sender, so that it "
            + "asks for '/\(joined(parts[1...]))'"
    }

    private static func dashboard(_ parts: [String]) -> String? {
        guard ["console", "login"].contains(parts.first?.lowercased()) else { return nil }
        return "The dashboard stands at '/dashboard'. An SDK or sender takes the root of the host as its service URL, "
            + "without '/\(parts[0])'"
    }

    private static func admin(_ parts: [String]) -> String? {
        guard parts.first == "admin" else { return nil }
        return "The admin API stands at '/admin/v1'; '/openapi.yaml' lists its paths"
    }

    /// The right resource without its version, with a wrong one, in capitals, or in the wrong number.
    private static func misspelled(_ parts: [String]) -> String? {
        let rest = Array(parts.drop(while: isVersion))
        guard let word = rest.first?.lowercased() else { return nil }
        let name = commonMistakes[word] ?? word
        guard name != "healthcheck" else { return "Did you mean '/healthcheck'?" }
        guard let version = versions[name] else { return nil }
        let meant = [version, name] + rest.dropFirst()
        return meant == parts ? nil : "Did you mean '/\(joined(meant[...]))'?"
    }

    /// The path that fits credentials of the other kind.
    static func hintForOtherCredentials(at path: String) -> String? {
        switch path.split(separator: "/").dropFirst().first {
        case "geofence": "Devices fetch their geofences at '/v1/geofences', with platform_uuid:platform_secret"
        case "geofences": "Back ends arrange geofences at '/v1/geofence', with application_uuid:api_key"
        case "registration": "Back ends list devices at '/v2/registrations', with application_uuid:api_key"
        case "registrations": "Devices register at '/v1/registration', with platform_uuid:platform_secret"
        default: nil
        }
    }

    private static func joined(_ parts: ArraySlice<String>) -> String { parts.joined(separator: "/") }
}
