import BelfryTesting
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import BelfryService

/// An issuer of OpenID Connect that says what a test wants, signed by keys that it may change.
final class TestIssuer: Sendable {
    static let url = "https://id.example"
    static let clientID = "belfry"

    enum Key: Sendable {
        case rsa(id: String?, _RSA.Signing.PrivateKey)
        case p256(id: String?, P256.Signing.PrivateKey)
        /// Signs nothing.
        case none
        /// A mistake that libraries made: the public key as the secret of an HMAC.
        case symmetric([UInt8])
    }

    struct State: Sendable {
        /// The key that signs.
        var key: Key
        /// The keys that it publishes.
        var published: [Key]
        var claims: JSONObject = [:]
        var removed: Set<String> = []
        var userInfo: JSONValue?
        var configuration: JSONObject = [:]
        var asked: [IssuerRequest] = []
        var isDown = false
    }

    let state: Mutex<State>
    let clock: ManualClock
    /// Generating them takes long.
    private static let generated = Result { try (0..<2).map { _ in try _RSA.Signing.PrivateKey(keySize: .bits2048) } }
    static var rsa: _RSA.Signing.PrivateKey { get throws { try generated.get()[0] } }
    static var otherRSA: _RSA.Signing.PrivateKey { get throws { try generated.get()[1] } }

    init(clock: ManualClock = ManualClock(), key: Key? = nil) throws {
        let key = try key ?? .rsa(id: "one", Self.rsa)
        self.clock = clock
        state = Mutex(State(key: key, published: [key]))
    }

    static func settings(
        _ name: String = "corp", rules: [String] = ["groups=ops:operator"], secret: String? = "s:cret",
        takesUnverifiedEmail: Bool = false
    ) throws -> Issuer {
        Issuer(
            name: name, title: "Corp", url: url, clientID: clientID, clientSecret: secret, scopes: ["openid", "email"],
            rules: try rules.map { try RoleRule($0, field: "roles") }, isPrivate: false,
            takesUnverifiedEmail: takesUnverifiedEmail)
    }

    var asked: [IssuerRequest] { state.withLock { $0.asked } }

    func set(_ change: (inout State) throws -> Void) rethrows { try state.withLock { try change(&$0) } }

    /// Answers as an issuer does.
    @Sendable func call(_ request: IssuerRequest) async throws -> (status: Int, body: [UInt8]) {
        state.withLock { $0.asked.append(request) }
        let state = state.withLock { $0 }
        if state.isDown { throw SignOnFault("The issuer cannot be reached; the server's log says why.") }
        let answer: JSONValue
        switch request.url {
        case "\(Self.url)/.well-known/openid-configuration":
            let own: JSONObject = [
                "issuer": .string(Self.url), "authorization_endpoint": .string("\(Self.url)/authorize?tenant=1"),
                "token_endpoint": .string("\(Self.url)/token"), "jwks_uri": .string("\(Self.url)/keys"),
                "userinfo_endpoint": .string("\(Self.url)/userinfo"),
            ]
            answer = .object(own.merging(state.configuration) { $1 })
        case "\(Self.url)/keys": answer = .object(["keys": .array(try state.published.compactMap(Self.jwk))])
        case "\(Self.url)/userinfo": answer = state.userInfo ?? .null
        case "\(Self.url)/token":
            guard request.form?["code"]?.hasPrefix("code ") == true, request.form?["code_verifier"]?.isEmpty == false
            else { return (400, Array(#"{"error": "invalid_grant"}"#.utf8)) }
            // The code carries the nonce of the login that it is of.
            let nonce = String(request.form?["code"]?.dropFirst(5) ?? "")
            answer = .object([
                "id_token": .string(try Self.token(claims(state, nonce), by: state.key)),
                "access_token": .string("access"),
            ])
        default: return (404, [])
        }
        return (200, answer.encoded)
    }

    private func claims(_ state: State, _ nonce: String) -> JSONValue {
        let now = clock.now.milliseconds / 1_000
        let own: JSONObject = [
            "iss": .string(Self.url), "aud": .string(Self.clientID), "sub": .string("subject-1"),
            "exp": .integer(now + 300), "iat": .integer(now), "nonce": .string(nonce),
            "email": .string("Ann@corp.example"), "email_verified": .bool(true), "name": .string("Ann"),
            "groups": .strings(["staff", "ops"]),
        ]
        return .object(own.merging(state.claims) { $1 }.filter { !state.removed.contains($0.key) })
    }

    private static func token(_ claims: JSONValue, by key: Key) throws -> String {
        func part(_ value: JSONValue) -> String { Data(value.encoded).base64URL }
        func text(_ algorithm: String, _ id: String?) -> String {
            var head: JSONObject = ["alg": .string(algorithm)]
            head["kid"] = id.map(JSONValue.string)
            return part(.object(head)) + "." + part(claims)
        }
        switch key {
        case .rsa(let id, let key):
            let text = text("RS256", id)
            let digest = SHA256.hash(data: Array(text.utf8))
            let signature = try key.signature(for: digest, padding: .insecurePKCS1v1_5)
            return "\(text).\(signature.rawRepresentation.base64URL)"
        case .p256(let id, let key):
            let text = text("ES256", id)
            return "\(text).\(try key.signature(for: Array(text.utf8)).rawRepresentation.base64URL)"
        case .none: return text("none", nil) + "."
        case .symmetric(let secret):
            let text = text("HS256", "one")
            let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: secret))
            return "\(text).\(Data(code).base64URL)"
        }
    }

    private static func jwk(_ key: Key) throws -> JSONValue? {
        func named(_ id: String?, _ members: JSONObject) -> JSONValue {
            .object(members.merging(id.map { ["kid": .string($0)] } ?? [:]) { $1 })
        }
        switch key {
        case .rsa(let id, let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            return named(
                id,
                [
                    "kty": .string("RSA"), "use": .string("sig"), "n": .string(numbers.modulus.base64URL),
                    "e": .string(numbers.publicExponent.base64URL),
                ])
        case .p256(let id, let key):
            let point = key.publicKey.rawRepresentation
            return named(
                id,
                [
                    "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Data(point.prefix(32)).base64URL),
                    "y": .string(Data(point.suffix(32)).base64URL),
                ])
        case .none, .symmetric: return nil
        }
    }
}

/// A browser on its way through a login by an issuer.
struct SignOnVisitor {
    let dashboard: TestDashboard
    var cookie = ""
    /// The query of the address by which the issuer was asked.
    var asked: [String: String] = [:]

    init(_ dashboard: TestDashboard) { self.dashboard = dashboard }

    /// Goes to the issuer.
    mutating func depart(_ path: String = "/sign-on/corp") async throws -> TestPage {
        let page = try await dashboard.send(.get, "/dashboard" + path, [.cookie: cookie])
        if let set = page.headers[values: .setCookie].first(where: { $0.hasPrefix("belfry_visit=") }) {
            cookie = String(set.prefix { $0 != ";" })
        }
        let query = page.location.split(separator: "?", maxSplits: 1).last ?? ""
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { asked[parts[0]] = String(percentDecoding: parts[1][...], plusIsSpace: false) }
        }
        return page
    }

    /// Comes back with a code, which carries the nonce.
    func arrive(
        _ path: String = "/sign-on/corp", state: String? = nil, nonce: String? = nil, more: String = ""
    ) async throws -> TestPage {
        let code = "code \(nonce ?? asked["nonce"] ?? "")".percentEncoded
        let state = (state ?? asked["state"] ?? "").percentEncoded
        return try await dashboard.send(
            .get, "/dashboard\(path)/callback?code=\(code)&state=\(state)\(more)", [.cookie: cookie])
    }
}
