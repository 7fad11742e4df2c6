import Crypto
import HTTPTypes
import Hummingbird

extension Acrobits {
    /// HTTP Digest authentication of a reporter, for accounts that have its user and password.
    ///
    /// Both are made from the application's shared secret, so that nothing more has to be kept; they change with it. A challenge
    /// is good for five minutes on any node, and each count of it once on a node (`DigestNonces`). Source: RFC 7616; Acrobits, "Web
    /// services", AuthUsername and AuthPassword.
    struct Digest: Sendable {
        private static let realm = "Belfry"
        static let lifetime = Duration.seconds(300)

        /// The verdict on an `Authorization` header.
        enum Verdict: Hashable {
            case wrong
            /// The password is right, but the challenge is over: the softphone answers a new one without asking its user.
            case stale
            case right(DigestNonces.Use)
        }

        let user: String
        let password: String
        private let key: SymmetricKey

        init(of endpoint: OpenEndpoint, sharedSecret: [UInt8]) {
            let secret = SymmetricKey(data: sharedSecret)
            user = "reporter-\(endpoint.key)"
            let made = HMAC<SHA256>.authenticationCode(
                for: Array("acrobits-digest/\(endpoint.key)".utf8), using: secret)
            password = String(Array(made).hex.prefix(32))
            key = secret
        }

        /// - Parameter isStale: whether only the challenge was wrong.
        func challenge(at now: Instant, isStale: Bool = false) -> APIError {
            APIError(
                .unauthorized, "This reporter takes HTTP Digest with its user and password",
                headers: [
                    .wwwAuthenticate:
                        #"Digest realm="\#(Self.realm)", qop="auth", algorithm=MD5, nonce="\#(nonce(at: now, .random(in: 0 ... .max)))""#
                        + (isStale ? ", stale=true" : "")
                ])
        }

        /// - Parameter mark: tells challenges of one moment apart.
        private func nonce(at now: Instant, _ mark: UInt64) -> String {
            let words = "\(String(now.milliseconds, radix: 16))-\(String(mark, radix: 16))"
            let code = HMAC<SHA256>.authenticationCode(for: Array("acrobits-nonce/\(words)".utf8), using: key)
            return "\(words)-\(String(Array(code).hex.prefix(32)))"
        }

        /// - Parameter isTarget: whether an address is the requested one; a softphone signs it with the path of the public URL.
        func verdict(
            on header: String, method: HTTPRequest.Method, at now: Instant, isTarget: (String) -> Bool
        ) -> Verdict {
            guard let values = Self.parameters(of: header), values["username"] == user, values["realm"] == Self.realm,
                let target = values["uri"], isTarget(target), let nonce = values["nonce"],
                let response = values["response"]
            else { return .wrong }
            let first = md5("\(user):\(Self.realm):\(password)")
            let second = md5("\(method.rawValue):\(target)")
            var (middle, count) = (nonce, UInt32(1))
            if let quality = values["qop"] {
                guard quality == "auth", let text = values["nc"], text.utf8.count == 8,
                    let given = UInt32(text, radix: 16)
                else { return .wrong }
                middle = "\(nonce):\(text):\(values["cnonce"] ?? ""):\(quality)"
                count = given
            }
            let expected = SHA256.hash(data: Array(md5("\(first):\(middle):\(second)").utf8))
            guard SHA256.hash(data: Array(response.lowercased().utf8)).isEqual(inConstantTime: Array(expected)) else {
                return .wrong
            }
            return use(of: nonce, count, at: now).map(Verdict.right) ?? .stale
        }

        /// nil where the nonce is not ours, or no longer.
        private func use(of nonce: String, _ count: UInt32, at now: Instant) -> DigestNonces.Use? {
            let parts = nonce.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, let time = Int64(parts[0], radix: 16), let mark = UInt64(parts[1], radix: 16) else {
                return nil
            }
            let made = Instant(milliseconds: time)
            guard made <= now, now < made + Self.lifetime, self.nonce(at: made, mark) == nonce else { return nil }
            return DigestNonces.Use(madeAt: made, mark: mark, count: count)
        }

        private func md5(_ text: String) -> String { Array(Insecure.MD5.hash(data: Array(text.utf8))).hex }

        /// The parameters of a Digest header, quoted or not.
        private static func parameters(of header: String) -> [String: String]? {
            guard header.lowercased().hasPrefix("digest ") else { return nil }
            var values: [String: String] = [:]
            var rest = header.dropFirst(7)
            while let equals = rest.firstIndex(of: "=") {
                let name = rest[..<equals].filter { !$0.isWhitespace && $0 != "," }.lowercased()
                rest = rest[rest.index(after: equals)...]
                if rest.first == "\"" {
                    let value = rest.dropFirst().prefix { $0 != "\"" }
                    values[name] = String(value)
                    rest = rest[value.endIndex...].dropFirst()
                } else {
                    let value = rest.prefix { $0 != "," }
                    values[name] = value.filter { !$0.isWhitespace }
                    rest = rest[value.endIndex...]
                }
            }
            return values
        }
    }
}
