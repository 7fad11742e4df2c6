/// Judges the contact in VAPID tokens as push services do: Apple answers 403 `BadJwtToken` for all pushes with one that it dislikes,
/// Google's FCM looks at none, Mozilla asks for one of the right form.
///
/// Source: RFC 8292 §2.1; Apple, "Sending web push notifications in web apps and browsers"; web-push-libs/web-push#947,
/// web-push-libs/web-push-php#406; RFC 6761 and RFC 6762 for names that are nobody's.
public struct VAPIDSubjectFault: Sendable, Hashable, CustomStringConvertible {
    /// Whether it cannot be the contact of anybody; otherwise a push service may refuse it.
    public let isCertain: Bool
    /// The end of a sentence about the subject.
    public let reason: String

    /// The push services that refuse it.
    public static let refusers = "Apple's push service (web.push.apple.com) answers 403 BadJwtToken"

    public var description: String { reason }

    /// nil for a subject that every push service takes.
    public static func of(_ subject: String?) -> VAPIDSubjectFault? {
        guard let subject, !subject.isEmpty else {
            return fault("is missing: \(refusers), and Mozilla asks for one", isCertain: false)
        }
        guard subject.utf8.allSatisfy({ $0 < 0x80 }) else {
            return fault(
                "holds characters beyond ASCII: write the domain as DNS has it, xn--bcher-kva.ch for b\u{FC}cher.ch")
        }
        guard let host = host(of: subject) else {
            return fault("has to be mailto:name@host or an https URL: \(refusers) otherwise")
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            !label.isEmpty && label.count <= 63
                && label.allSatisfy { $0 == "-" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
        guard isName, labels.last?.contains(where: \.isLetter) == true else {
            return fault("names \(host), which is no domain: \(refusers)")
        }
        guard labels.count > 1 else { return fault("names \(host), which is no public domain: \(refusers)") }
        let last = String(labels.last ?? "")
        if reserved.contains(last) {
            return fault("names \(host), and .\(last) is no public domain: \(refusers)")
        }
        if let oddity = oddity(of: subject, labels) {
            return fault(
                "\(oddity): Apple's push service (web.push.apple.com) may answer 403 BadJwtToken", isCertain: false)
        }
        guard doubtful.contains(last) || host.hasSuffix(".home.arpa") else { return nil }
        return fault(
            "names \(host), and .\(last) is no public domain: Apple's push service (web.push.apple.com) may answer 403 BadJwtToken",
            isCertain: false)
    }

    /// The subject with its scheme in lower case, as services compare the letters.
    public static func normalized(_ subject: String) -> String {
        for scheme in ["mailto:", "https:"] where subject.lowercased().hasPrefix(scheme) {
            return scheme + subject.dropFirst(scheme.count)
        }
        return subject
    }

    /// The trait that makes services doubt a contact, although its domain may exist; nil for none.
    private static func oddity(of subject: String, _ labels: [Substring]) -> String? {
        if let label = labels.first(where: { $0.hasPrefix("-") || $0.hasSuffix("-") }) {
            return "names \(label), and no part of a domain begins or ends with a hyphen"
        }
        guard subject.lowercased().hasPrefix("mailto:") else {
            let authority = subject.dropFirst("https://".count).prefix { !"/?#".contains($0) }
            return authority.contains("@") ? "has a user before its host" : nil
        }
        let address = subject.dropFirst("mailto:".count).prefix { $0 != "?" }
        if address.contains(",") || address.contains(";") { return "names several addresses, it has to be one" }
        return address.count { $0 == "@" } > 1 ? "has two @ in its address" : nil
    }

    private static let reserved: Set = ["local", "localhost", "invalid", "test"]
    private static let doubtful: Set = [
        "example", "internal", "lan", "localdomain", "home", "corp", "intranet", "private", "onion", "arpa",
    ]

    private static func fault(_ reason: String, isCertain: Bool = true) -> VAPIDSubjectFault {
        VAPIDSubjectFault(isCertain: isCertain, reason: reason)
    }

    /// The host in lower case and without the root's dot; nil for anything but the two forms.
    private static func host(of subject: String) -> String? {
        let rest: Substring
        let subject = normalized(subject)
        if subject.hasPrefix("mailto:") {
            let address = subject.dropFirst("mailto:".count).prefix { $0 != "?" }
            guard let at = address.lastIndex(of: "@"), at != address.startIndex else { return nil }
            rest = address[address.index(after: at)...]
        } else if subject.hasPrefix("https://") {
            let authority = subject.dropFirst("https://".count).prefix { !"/?#".contains($0) }
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            rest = host.hasPrefix("[") ? host : host.prefix { $0 != ":" }
        } else {
            return nil
        }
        let host = rest.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
