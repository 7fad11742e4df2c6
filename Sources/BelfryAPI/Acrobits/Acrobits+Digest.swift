import BelfryCore
import Crypto
import HTTPTypes
import Hummingbird

extension Acrobits {
    /// HTTP Digest authentication of a reporter, for accounts that have its user and password.
    ///
    /// Both are made from the application's shared secret, so that nothing more has to be kept; they change with it. A challenge
    /// is good for five minutes on any node. Source: RFC 7616; Acrobits, "Web services", AuthUsername and AuthPassword.
    struct Digest: Sendable {
        private static let realm = "Belfry"
        private static let lifetime = Duration.seconds(300)

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

        func challenge(at now: Instant) -> APIError {
            APIError(
                .unauthorized, "This reporter takes HTTP Digest with its user and password",
                headers: [
                    .wwwAuthenticate:
                        #"Digest realm="\#(Self.realm)", qop="auth", algorithm=MD5, nonce="\#(nonce(at: now))""#
                ])
        }

        private func nonce(at now: Instant) -> String {
            let time = String(now.milliseconds, radix: 16)
            let code = HMAC<SHA256>.authenticationCode(for: Array("acrobits-nonce/\(time)".utf8), using: key)
            return "\(time)-\(String(Array(code).hex.prefix(32)))"
        }

        /// - Parameter target: the path and query of the request, as they were sent.
        func accepts(_ header: String, method: HTTPRequest.Method, target: String, at now: Instant) -> Bool {
            guard let values = Self.parameters(of: header), values["username"] == user, values["realm"] == Self.realm,
                values["uri"] == target, let nonce = values["nonce"], isFresh(nonce, at: now),
                let response = values["response"]
            else { return false }
            let first = md5("\(user):\(Self.realm):\(password)")
            let second = md5("\(method.rawValue):\(target)")
            let middle =
                if let quality = values["qop"] {
                    "\(nonce):\(values["nc"] ?? ""):\(values["cnonce"] ?? ""):\(quality)"
                } else { nonce }
            let expected = SHA256.hash(data: Array(md5("\(first):\(middle):\(second)").utf8))
            return SHA256.hash(data: Array(response.lowercased().utf8)).isEqual(inConstantTime: Array(expected))
        }

        private func isFresh(_ nonce: String, at now: Instant) -> Bool {
            guard let time = nonce.split(separator: "-").first.flatMap({ Int64($0, radix: 16) }) else { return false }
            let made = Instant(milliseconds: time)
            return self.nonce(at: made) == nonce && made <= now && now < made + Self.lifetime
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
