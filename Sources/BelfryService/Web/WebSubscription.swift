import FoundationEssentials

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
