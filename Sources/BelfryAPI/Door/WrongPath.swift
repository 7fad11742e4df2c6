/// Guesses what is wrong with a path that leads nowhere, for the person who reads the answer.
enum WrongPath {
    static func explained(_ path: String) -> String {
        let parts = path.split(separator: "/")
        if let version = parts.firstIndex(where: { $0 == "v1" || $0 == "v2" }), version > 0 {
            let prefix = parts[..<version].joined(separator: "/")
            let rest = parts[version...].joined(separator: "/")
            return "There is nothing at this path. The API stands at the root of the host: "
                + "take '/\(prefix)' out of the service URL of the SDK or sender, so that it asks for '/\(rest)'"
        }
        if let first = parts.first, ["registration", "push", "version"].contains(first) {
            return "There is nothing at this path. Did you mean '/v1/\(parts.joined(separator: "/"))'?"
        }
        return "There is nothing at this path. SDKs register at '/v1/registration', senders post to '/v1/push'; "
            + "check the service URL and the version in the path"
    }
}
