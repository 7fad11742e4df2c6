import Crypto
import HTTPTypes
import KeyFiles
import NIOPosix
import Synchronization

/// The token and the public key by which an application server identifies itself.
///
/// Source: RFC 8292 §3; draft-ietf-webpush-vapid-01 §2.4 for the form of older servers, such as Mastodon's.
struct VAPIDCredentials: Sendable, Hashable {
    let token: String
    /// An uncompressed point of P-256.
    let key: [UInt8]

    static let tokenBytesMax = 2_048

    /// nil for a request without them, and where they cannot be read.
    init?(_ headers: HTTPFields) {
        guard let header = headers[values: .authorization].first, headers[values: .authorization].count == 1,
            header.utf8.count <= 2 * Self.tokenBytesMax, let end = header.firstIndex(of: " ")
        else { return nil }
        let rest = header[end...].trimmedSpaces
        let (token, key): (String?, String?) =
            switch header[..<end].lowercased() {
            case "vapid": (Self.parameter("t", of: rest), Self.parameter("k", of: rest))
            case "webpush", "bearer": (rest, headers.value(.cryptoKey).flatMap { Self.parameter("p256ecdsa", of: $0) })
            default: (nil, nil)
            }
        guard let token, token.utf8.count <= Self.tokenBytesMax, let key = key.flatMap(Self.key) else { return nil }
        self.token = token
        self.key = key
    }

    private static func parameter(_ name: String, of text: String) -> String? {
        for part in text.split(whereSeparator: { $0 == "," || $0 == ";" }) {
            let part = part.trimmedSpaces
            if part.hasPrefix("\(name)=") { return String(part.dropFirst(name.count + 1)) }
        }
        return nil
    }

    /// The bytes of a public key; nil for anything else. Verification finds whether it is on the curve.
    static func key(_ text: String) -> [UInt8]? {
        guard let bytes = Base64.decode(text.utf8), bytes.count == 65, bytes[0] == 4 else { return nil }
        return bytes
    }

    static func text(_ key: [UInt8]) -> String { Base64.encode(key) }
}

/// Verifies the tokens of application servers, each once: they send the same for hours.
final class VAPIDVerifier: Sendable {
    /// The end of tokens that were verified, by a hash of token and key.
    private let verified = Mutex(BoundedCache<[UInt8], Instant>(countMax: 8_192))

    /// Source: RFC 8292 §2.
    static let lifeMax = Duration.seconds(86_400)

    /// Throws unless the request has a token of the key that is demanded, for this server, that has not expired.
    ///
    /// - Parameters:
    ///   - demanded: nil for any key.
    ///   - isOwn: whether an origin is this server's.
    func check(
        _ headers: HTTPFields, for demanded: [UInt8]?, at now: Instant, isOwn: (String) -> Bool
    ) async throws {
        guard let credentials = VAPIDCredentials(headers) else { throw APIError.noVAPID }
        guard demanded == nil || credentials.key == demanded else {
            throw Self.refused("its key is not the one that the endpoint was made for")
        }
        let hash = Array(SHA256.hash(data: Array(credentials.token.utf8) + credentials.key))
        if let end = verified.withLock({ $0.value(for: hash) }), now < end { return }
        let token: IDToken
        do throws(SignOnFault) { token = try IDToken(credentials.token) } catch {
            throw Self.refused("its token cannot be read, or is not signed by ES256")
        }
        let end = try Self.checkedEnd(of: token, at: now, isOwn: isOwn)
        // A verification takes a tenth of a millisecond, in which an event loop would answer others.
        let isValid = try await NIOThreadPool.singleton.runIfActive {
            SigningKey(credentials, id: token.keyID).map { token.isSigned(by: [$0]) } ?? false
        }
        guard isValid else { throw Self.refused("the signature of its token is not by its key") }
        verified.withLock { $0.set(end, for: hash) }
    }

    private static func checkedEnd(
        of token: IDToken, at now: Instant, isOwn: (String) -> Bool
    ) throws(APIError) -> Instant {
        guard token.audience.contains(where: isOwn) else {
            throw refused("aud has to be the scheme, host and port of the endpoint's URL")
        }
        guard let end = IDToken.instant(token.claims["exp"]) else { throw refused("exp is missing") }
        guard now < end + IDToken.skew else { throw refused("exp is over") }
        guard end <= now + lifeMax + IDToken.skew else { throw refused("exp is more than 24 hours away") }
        return end + IDToken.skew
    }

    private static func refused(_ reason: String) -> APIError {
        APIError(.forbidden, "The application server's VAPID credentials are refused: \(reason)")
    }
}

extension APIError {
    /// Source: RFC 8292 §4.2.
    fileprivate static let noVAPID = APIError(
        .unauthorized, "Authentication failed: this endpoint takes 'Authorization: vapid t=…, k=…' (RFC 8292)",
        headers: [.wwwAuthenticate: "vapid"])
}

extension SigningKey {
    /// - Parameter id: what the token calls it.
    fileprivate init?(_ credentials: VAPIDCredentials, id: String?) {
        var members: JSONObject = [
            "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64.encode(credentials.key[1..<33])),
            "y": .string(Base64.encode(credentials.key[33...])),
        ]
        members["kid"] = id.map(JSONValue.string)
        self.init(.object(members))
    }
}

extension Substring {
    /// Without spaces at its ends.
    /// By bytes: a step back over flags counts all those before it.
    var trimmedSpaces: String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let rest = utf8.drop(while: isSpace)
        return rest.lastIndex { !isSpace($0) }.map { String(Substring(rest[...$0])) } ?? ""
    }
}
