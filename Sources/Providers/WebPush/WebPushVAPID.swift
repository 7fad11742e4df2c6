import Crypto
import KeyFiles
import Outbound
import Synchronization

/// The sender's identity for push services: one signed token for each of them and each hour, made when first needed.
public final class VAPID: Sendable {
    private let key: VAPIDKey
    private let subject: String?
    private let held = Mutex<[String: Held]>([:])

    private struct Held {
        let header: String
        let hour: Int64
    }

    /// Services accept a day at most; clocks differ. Source: RFC 8292 §2.
    static let life: Int64 = 12 * 3_600
    /// Subscriptions name their services, so anyone can add one.
    static let heldMax = 1_024

    /// - Parameter subject: `mailto:` or `https:`, the contact for the operators of push services. Apple and Mozilla
    ///   require it.
    public init(key: VAPIDKey, subject: String?) throws(WebPushError) {
        if let subject { try Self.check(subject) }
        self.key = key
        self.subject = subject
    }

    /// The `applicationServerKey` for an app.
    public var publicKey: String { key.publicText }

    /// The `Authorization` header for a service. Source: RFC 8292 §3.
    ///
    /// - Parameters:
    ///   - origin: as ``WebPushSubscription/origin``.
    ///   - now: Unix seconds.
    func header(for origin: String, now: Int64) throws -> String {
        try held.withLock { held in
            let hour = now / 3_600
            if let known = held[origin], known.hour == hour { return known.header }
            let token = try key.token(audience: origin, subject: subject, expiresAt: now + Self.life)
            let header = "vapid t=\(token), k=\(key.publicText)"
            if held.count >= Self.heldMax { held = [:] }
            held[origin] = Held(header: header, hour: hour)
            return header
        }
    }

    /// Drops a token that a service refused, unless another answer already had it replaced.
    func forget(_ header: String, for origin: String) {
        held.withLock { held in
            if held[origin]?.header == header { held[origin] = nil }
        }
    }

    /// It is put into JSON unescaped. Apple refuses spaces, angle brackets and hosts that mean the sender's own
    /// machine.
    private static func check(_ subject: String) throws(WebPushError) {
        let isPlain = subject.utf8.allSatisfy { 0x21...0x7E ~= $0 && !#"<>"\"#.utf8.contains($0) }
        let isPage =
            subject.hasPrefix("https://") && subject.dropFirst(8).first.map { $0.isLetter || $0.isNumber } == true
        let isMail = subject.hasPrefix("mailto:") && subject.dropFirst(7).contains("@")
        guard isPlain, isMail || isPage else {
            throw WebPushError("subject has to be mailto:name@host or an https URL, without spaces")
        }
        guard !subject.hasSuffix("@localhost") else {
            throw WebPushError("subject names localhost, which push services refuse")
        }
    }
}

/// The key pair that identifies the sender to push services. Browsers bind subscriptions to its public half.
///
/// Source: RFC 8292.
public struct VAPIDKey: Sendable {
    private let key: P256.Signing.PrivateKey

    /// Creates a new key.
    public init() { key = P256.Signing.PrivateKey(compactRepresentable: false) }

    /// - Parameter text: 32 bytes in Base64, as the tools of Web Push write it, or PEM.
    public init(_ text: String) throws(WebPushError) {
        do {
            if let raw = Base64.decode(pasted: text.utf8), raw.count == 32 {
                key = try P256.Signing.PrivateKey(rawRepresentation: raw)
            } else {
                key = try P256.Signing.PrivateKey(derRepresentation: PEMFile(text).privateKey())
            }
        } catch {
            throw WebPushError("the VAPID key has to be a P-256 private key, 32 bytes in Base64 or PEM")
        }
    }

    /// 32 bytes in Base64 for URLs.
    public var privateText: String { Base64.encode(key.rawRepresentation) }

    /// The `applicationServerKey` for an app: 65 bytes in Base64 for URLs.
    public var publicText: String { Base64.encode(key.publicKey.x963Representation) }

    /// A token for one push service.
    ///
    /// - Parameters:
    ///   - expiresAt: Unix seconds.
    func token(audience: String, subject: String?, expiresAt: Int64) throws -> String {
        let head = Base64.encode(#"{"typ":"JWT","alg":"ES256"}"#.utf8)
        let contact = subject.map { #","sub":"\#($0)""# } ?? ""
        let claims = Base64.encode(#"{"aud":"\#(audience)","exp":\#(expiresAt)\#(contact)}"#.utf8)
        let signed = "\(head).\(claims)"
        let signature = try key.signature(for: Array(signed.utf8))
        return "\(signed).\(Base64.encode(signature.rawRepresentation))"
    }

    func verifies(_ signature: [UInt8], of text: String) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.publicKey.isValidSignature(signature, for: Array(text.utf8))
    }
}

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
    private static let doubtful = AddressGuard.localEndings.union(["example", "arpa"])

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
