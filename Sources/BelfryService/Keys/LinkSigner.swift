import FoundationEssentials

/// Makes links that name the recipient of a push in a form that their servers can trust.
///
/// To the URL it adds `device`, `user` where there is one, `push`, `expires` in Unix seconds, and last `signature`: HMAC-SHA256
/// in base64url, with the application's shared secret, of everything before `&signature=`. The additions are the same whenever
/// the push is sent again.
package struct LinkSigner: Sendable {
    private let tail: String
    private let sign: @Sendable (_ text: String) -> String

    /// The time for which a link is valid.
    package static let lifetime = Duration.seconds(30 * 86_400)
    /// The bytes that are added where there is no user: three names with values of 36, 36 and 10 bytes, and 43 of signature.
    static let addedBytesMin = 160

    /// - Parameter sign: the base64url of a signature.
    package init(push: PushHead, sign: @escaping @Sendable (_ text: String) -> String) {
        let expiresAt = push.acceptedAt + Self.lifetime
        tail = "push=\(push.receiptID.lowercased)&expires=\(expiresAt.milliseconds / 1_000)"
        self.sign = sign
    }

    func link(_ url: String, for values: PersonalizedValues.Values) -> String {
        var link = url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")
        if let device = values.deviceUUID { link += "device=\(device.lowercased)&" }
        if let user = values.userID { link += "user=\(user.percentEncoded)&" }
        link += tail
        return "\(link)&signature=\(sign(link))"
    }
}

/// Signs links in the name of applications.
package protocol LinkKeys: Sendable {
    /// Returns the base64url of the HMAC-SHA256 of a text by the application's shared secret.
    func signing(for application: Key<Application>) async throws -> @Sendable (_ text: String) -> String
}

/// Signs no links; for tests of other things.
package struct NoLinkKeys: LinkKeys {
    package init() {}

    package func signing(for application: Key<Application>) async throws -> @Sendable (_ text: String) -> String {
        throw StoreError.unavailable("there is nothing to sign links with")
    }
}
