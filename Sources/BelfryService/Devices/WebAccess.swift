package import FoundationEssentials

/// The access of a web site's pages that register browsers on a platform: a key that every visitor can read, and the sites that may
/// use it.
package struct WebAccess: Sendable, Hashable {
    package let key: RegistrationKey
    package let origins: [WebOrigin]
    /// Whether a browser has to return the content of a push before it is registered.
    package let provesRegistrations: Bool

    /// The most sites that one platform serves.
    package static let originsMax = 64

    package init(
        key: RegistrationKey, origins: [WebOrigin], provesRegistrations: Bool = true
    ) throws(InvalidInput) {
        guard 1...Self.originsMax ~= origins.count else {
            throw InvalidInput(field: "origins", "has \(origins.count) origins, it takes 1 to \(Self.originsMax)")
        }
        self.key = key
        self.origins = origins
        self.provesRegistrations = provesRegistrations
    }

    /// Decodes the stored form. Throws `InvalidInput` if it is malformed.
    package init(stored text: String) throws(InvalidInput) {
        var key: RegistrationKey?
        var origins: [WebOrigin] = []
        var provesRegistrations = true
        try JSONReader.document(Array(text.utf8)) { reader, name throws(InvalidInput) in
            switch name {
            case "key": key = try reader.string(name).flatMap { RegistrationKey($0) }
            case "origins": for origin in try reader.strings(name) ?? [] { origins.append(try WebOrigin(origin)) }
            case "proof": provesRegistrations = try reader.bool(name) ?? true
            default: try reader.skip()
            }
        }
        guard let key else { throw InvalidInput(field: "key", "is not a registration key") }
        try self.init(key: key, origins: origins, provesRegistrations: provesRegistrations)
    }

    /// The stored form.
    package var storedText: String {
        JSONValue.object([
            "key": .string(key.text), "origins": .strings(origins.map(\.text)), "proof": .bool(provesRegistrations),
        ]).storedText
    }
}

/// Names a web platform in a page and lets the page register browsers there, and nothing else. It is no secret.
///
/// Its text is `pk_`, the platform's UUID and 16 random bytes, in hex digits: a replaced key is refused, and a platform is found by it
/// without an index.
package struct RegistrationKey: Sendable, Hashable {
    package let text: String
    package let platform: UUID

    private static let prefix = "pk_"

    /// A new key for a platform.
    package init(for platform: UUID, random: UUID) {
        self.platform = platform
        text = Self.prefix + (platform.bytes + random.bytes).hex
    }

    /// nil for anything that is not the text of a key.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count == Self.prefix.utf8.count + 64,
            let bytes = [UInt8](hex: Array(text.utf8.dropFirst(Self.prefix.utf8.count))), bytes.count == 32,
            let platform = bytes[..<16].withUnsafeBytes(UUID.init(bytes:))
        else { return nil }
        self.text = text
        self.platform = platform
    }
}

/// The scheme, host and port of a web site, as browsers write them in the `Origin` header.
///
/// Source: RFC 6454 §6.1.
package struct WebOrigin: Sendable, Hashable {
    package let text: String

    package static let bytesMax = 300

    /// Browsers give no subscriptions to sites without TLS, except on their own machine.
    ///
    /// Source: W3C, "Secure Contexts" §3.1.
    package init(_ written: String, field: String = "origins") throws(InvalidInput) {
        let text = written.lowercased()
        guard let authority = Self.authority(of: text), Self.isPlain(authority) else {
            throw InvalidInput(
                field: field,
                "is '\(written.prefix(Self.bytesMax))', it has to be https://host or https://host:port without a path, "
                    + "or http:// with localhost, 127.0.0.1 or [::1]")
        }
        let port = text.hasPrefix("https") ? ":443" : ":80"
        self.text = text.hasSuffix(port) ? String(text.dropLast(port.utf8.count)) : text
    }

    private static func authority(of text: String) -> Substring? {
        guard text.utf8.count <= bytesMax else { return nil }
        if text.hasPrefix("https://") { return text.dropFirst(8) }
        guard text.hasPrefix("http://") else { return nil }
        let authority = text.dropFirst(7)
        let isLocal = ["localhost", "127.0.0.1", "[::1]"].contains { authority == $0 || authority.hasPrefix("\($0):") }
        return isLocal ? authority : nil
    }

    private static func isPlain(_ authority: Substring) -> Bool {
        let isNamed = authority.utf8.first.map { $0 != UInt8(ascii: ":") } ?? false
        return isNamed
            && authority.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x61...0x7A: true
                default: "-._:[]".utf8.contains(byte)
                }
            }
    }
}

/// An operator's changes to a platform's web access; nil leaves a field as it is.
package struct WebAccessEdit: Sendable, Hashable {
    package var origins: [WebOrigin]?
    package var provesRegistrations: Bool?
    /// Whether pages with the present key are refused from now on.
    package var replacesKey = false

    /// The access that it makes of the one before.
    ///
    /// - Parameter key: for an access that is new, or takes another key.
    func changed(_ known: WebAccess?, new key: RegistrationKey) throws(InvalidInput) -> WebAccess {
        try WebAccess(
            key: replacesKey ? key : known?.key ?? key, origins: origins ?? known?.origins ?? [],
            provesRegistrations: provesRegistrations ?? known?.provesRegistrations ?? true)
    }
}

extension AdminService {
    /// Lets web pages register browsers on a platform, or changes which pages may and how.
    package func setWebAccess(
        of platform: Platform, of application: Application, _ edit: WebAccessEdit, by author: AuditAuthor
    ) async throws -> WebAccess {
        guard platform.kind == .web else {
            throw InvalidInput(
                field: "platform", "is of type \(platform.kind.rawValue), web pages register on type web")
        }
        let known = platform.webAccess
        let key = RegistrationKey(for: platform.uuid, random: UUID())
        let access = try edit.changed(known, new: key)
        let details = [
            "origins": access.origins.map(\.text).joined(separator: " "),
            "proof": String(access.provesRegistrations), "new_key": String(access.key != known?.key),
        ]
        let change = AuditedChange(by: author, "platform.set_web_access", platform, of: application, details)
        // `platform` may be a little old: another change may have replaced its key since.
        return try await store.audited(change) { try await store.setWebAccess(of: platform.key, edit, new: key) }
    }

    /// Ends the registration of browsers by web pages. Registered browsers stay.
    package func endWebAccess(
        of platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "platform.end_web_access", platform, of: application)
        try await store.audited(change) { try await store.setWebAccess(of: platform.key, to: nil) }
    }
}

/// A browser's subscription for a web page that wants pushes: the endpoint to post them to, and the keys to encrypt them with.
///
/// Source: W3C Push API, `PushSubscription.toJSON()`; RFC 8291 §2.
package struct WebSubscription: Sendable, Hashable {
    /// An https URL.
    package let endpoint: String
    /// An uncompressed point on P-256, 65 bytes. Encryption verifies that it is on the curve.
    package let p256dh: [UInt8]
    /// 16 bytes.
    package let auth: [UInt8]

    package static let endpointBytesMax = 2_048

    /// Reads the subscription's JSON. Members that are not needed, such as `expirationTime`, are skipped.
    package init(json: some Collection<UInt8>) throws(InvalidInput) {
        let field = "registration_token"
        guard case .object(let members)? = try? JSONValue(json: json) else {
            throw InvalidInput(
                field: field,
                "is not a Web Push subscription: it has to be what PushSubscription.toJSON() returns, an object with endpoint, "
                    + "keys.p256dh and keys.auth, or that as a text")
        }
        guard let endpoint = members["endpoint"]?.stringValue, endpoint.hasPrefix("https://"),
            endpoint.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), let url = URL(string: endpoint), url.host != nil,
            1...65_535 ~= url.port ?? 443,
            endpoint.utf8.count <= Self.endpointBytesMax
        else {
            throw InvalidInput(
                field: "\(field).endpoint", "has to be an https URL of \(Self.endpointBytesMax) bytes at most")
        }
        if let host = url.host, SpecialUseHost.leadsNowhere(host) {
            throw InvalidInput(
                field: "\(field).endpoint",
                "names \(host), which can never be reached: browsers give such an endpoint for a subscription that has ended; "
                    + "subscribe again")
        }
        self.endpoint = endpoint
        p256dh = try Self.key("p256dh", in: members, bytes: 65)
        auth = try Self.key("auth", in: members, bytes: 16)
        guard p256dh.first == 4 else {
            throw InvalidInput(
                field: "\(field).keys.p256dh", "has to be an uncompressed point, its first byte is not 4")
        }
    }

    /// The stored form: the same subscription makes the same bytes.
    package var json: String {
        let endpoint = endpoint.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return #"{"endpoint":"\#(endpoint)","keys":{"auth":"\#(Self.text(auth))","p256dh":"\#(Self.text(p256dh))"}}"#
    }

    private static func key(
        _ name: String, in members: JSONObject, bytes count: Int
    ) throws(InvalidInput) -> [UInt8] {
        let text = members["keys"]?[name]?.stringValue ?? ""
        let standard = text.replacing("-", with: "+").replacing("_", with: "/").replacing("=", with: "")
        let padded = standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        guard let key = Data(base64Encoded: padded), key.count == count else {
            throw InvalidInput(field: "registration_token.keys.\(name)", "has to be \(count) bytes in Base64 for URLs")
        }
        return Array(key)
    }

    private static func text(_ key: [UInt8]) -> String {
        Data(key).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
