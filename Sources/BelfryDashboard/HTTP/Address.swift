import BelfryService

/// An address within the dashboard, with each part and value percent-encoded.
package enum Address {
    package static func path(_ parts: String...) -> String { joined(parts) }

    /// A page of an application.
    package static func of(_ application: Application, _ parts: String...) -> String {
        joined(["apps", application.uuid.lowercased] + parts)
    }

    private static func joined(_ parts: [String]) -> String {
        "/" + ([Dashboard.root] + parts.filter { !$0.isEmpty }.map(\.percentEncoded)).joined(separator: "/")
    }

    /// The address with a query of those values that are not empty.
    package static func query(_ path: String, _ values: [(String, String)]) -> String {
        let items = values.filter { !$0.1.isEmpty }.map { "\($0.0.percentEncoded)=\($0.1.percentEncoded)" }
        return items.isEmpty ? path : path + "?" + items.joined(separator: "&")
    }

    /// The page to go to after the login: only a page of the dashboard, whatever was asked for.
    package static func checked(next: String) -> String {
        let home = "/" + Dashboard.root
        let isSafe = next.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isSafe, next == home || next.hasPrefix(home + "/") || next.hasPrefix(home + "?"),
            !next.hasPrefix(home + "/log"), !next.contains("//"), next.utf8.count <= 2_048
        else { return home }
        return next
    }
}
