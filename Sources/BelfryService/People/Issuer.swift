import Crypto
package import FoundationEssentials
import Synchronization

/// An issuer of OpenID Connect whose people may log in at the dashboard.
package struct Issuer: Sendable, Hashable {
    /// The name in settings, addresses and the audit log.
    package let name: String
    /// The name of the issuer on the login page.
    package let title: String
    /// The issuer identifier, exactly as ID tokens have it.
    package let url: String
    package let clientID: String
    /// nil for a client that PKCE alone protects.
    package let clientSecret: String?
    package let scopes: [String]
    /// The first that matches gives the role. Without rules, people need an account or an invitation.
    package let rules: [RoleRule]
    /// Whether it may be at a private address, and at this machine without TLS.
    package let isPrivate: Bool
    /// Whether e-mail addresses are taken that the issuer does not call verified.
    package let takesUnverifiedEmail: Bool
    /// Certificates in PEM to trust instead of the system's; nil for the system's.
    package let trustRoots: String?

    package init(
        name: String, title: String, url: String, clientID: String, clientSecret: String?, scopes: [String],
        rules: [RoleRule], isPrivate: Bool, takesUnverifiedEmail: Bool, trustRoots: String? = nil
    ) {
        self.name = name
        self.title = title
        self.url = url
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scopes = scopes
        self.rules = rules
        self.isPrivate = isPrivate
        self.takesUnverifiedEmail = takesUnverifiedEmail
        self.trustRoots = trustRoots
    }

    /// Whether this may be an address of the issuer: HTTPS, or HTTP on this machine where that is allowed.
    package static func isAcceptable(_ url: String, isPrivate: Bool) -> Bool {
        guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#"), !url.contains("@") else {
            return false
        }
        if url.hasPrefix("https://") { return url.utf8.count > 8 }
        let rest = url.dropFirst("http://".count)
        let host = rest.prefix { $0 != "/" && $0 != "?" }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return isPrivate && url.hasPrefix("http://") && ["127.0.0.1", "localhost", "[::1]"].contains(String(name))
    }
}

/// A rule that maps a claim to a role: `groups=push-admins:tenant-admin/<tenant UUID>`.
package struct RoleRule: Sendable, Hashable {
    package let claim: String
    /// `*` for any.
    package let value: String
    package let scope: AdminKey.Scope
    /// A tenant or an application; nil for operators.
    package let bounds: UUID?

    /// Throws `InvalidInput` with what is wrong.
    package init(_ text: String, field: String) throws(InvalidInput) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let source = parts.dropLast().joined(separator: ":")
        let role = (parts.last ?? "").split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let pair = source.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else {
            throw InvalidInput(
                field: field, "is `\(text.quotable)`, a rule has the form claim=value:role or claim=value:role/UUID")
        }
        (claim, value) = (String(pair[0]), String(pair[1]))
        guard let scope = AdminKey.Scope(rawValue: String(role[0])) else {
            let scopes = AdminKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(
                field: field, "gives the role `\(String(role[0]).quotable)`, it has to be one of: \(scopes)")
        }
        let uuid = role.count == 2 ? UUID(text: role[1]) : nil
        guard (scope == .operator) == (role.count == 1), role.count == 1 || uuid != nil else {
            throw InvalidInput(
                field: field,
                "is `\(text.quotable)`: operator takes no UUID, any other role needs that of a tenant or an application"
            )
        }
        self.scope = scope
        bounds = uuid
    }

    /// Whether the claims have the value, alone or in a list. A name with dots is one claim, or a path into objects.
    func matches(_ claims: JSONValue) -> Bool {
        let found = claims[claim] ?? claim.split(separator: ".").reduce(claims as JSONValue?) { $0?[String($1)] }
        switch found {
        case nil, .null: return false
        case .array(let items): return items.contains { value == "*" || $0.flat == value }
        case .some(let single): return value == "*" || single.flat == value
        }
    }
}

/// A request to an issuer.
package struct IssuerRequest: Sendable, Hashable {
    package let url: String
    /// The fields to post; nil for a GET.
    package var form: [String: String]?
    package var authorization: String?
    /// Whether the issuer may be at a private address.
    package let isPrivate: Bool
    /// See `Issuer.trustRoots`.
    package let trustRoots: String?
}

/// Sends a request to an issuer, and returns its status and its body, or throws `SignOnFault`.
package typealias IssuerCall = @Sendable (IssuerRequest) async throws -> (status: Int, body: [UInt8])

/// Speaks with one issuer: finds its addresses and keys, and exchanges codes for its claims about a person.
///
/// Both are kept for an hour; a token signed by an unknown key has the keys fetched again. Source: OpenID Connect Discovery 1.0 §4,
/// OpenID Connect Core 1.0 §10.1.1.
final class IssuerClient: Sendable {
    let issuer: Issuer
    private let call: IssuerCall
    private let clock: any WallClock
    private let held = Mutex(Held())
    private let discoveries = SingleFlight<String, Provider>()
    private let keyFetches = SingleFlight<String, [SigningKey]>()

    private static let lifetime = Duration.seconds(3_600)
    /// The least time between two fetches, whatever happened to the first.
    private static let pause = Duration.seconds(10)

    private struct Held {
        var provider: (value: Provider, at: Instant)?
        var keys: (value: [SigningKey], at: Instant)?
        var failed: (fault: SignOnFault, at: Instant)?
        var keysFailed: (fault: SignOnFault, at: Instant)?
    }

    /// The issuer's addresses.
    struct Provider: Sendable {
        let authorization: String
        let token: String
        let keys: String
        let userInfo: String?
        let takesBasic: Bool
    }

    init(_ issuer: Issuer, call: @escaping IssuerCall, clock: any WallClock) {
        self.issuer = issuer
        self.call = call
        self.clock = clock
    }

    // MARK: The way to the issuer

    /// The address to which the browser goes to log in. Source: OpenID Connect Core 1.0 §3.1.2.1, RFC 7636 §4.3.
    func authorization(_ state: SignOnState, sealed: String) async throws -> String {
        let address = try await provider().authorization
        let challenge = Data(SHA256.hash(data: Array(state.verifier.utf8))).base64URL
        let fields = [
            ("response_type", "code"), ("client_id", issuer.clientID), ("redirect_uri", state.redirect),
            ("scope", issuer.scopes.joined(separator: " ")), ("state", sealed), ("nonce", state.nonce),
            ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ]
        let query = fields.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
        return address + (address.contains("?") ? "&" : "?") + query
    }

    // MARK: The way back

    /// The verified claims of the issuer about the person who brought the code.
    func claims(code: String, _ state: SignOnState) async throws -> JSONValue {
        let provider = try await provider()
        let answer = try await exchange(code, state, provider)
        guard let text = answer["id_token"]?.stringValue else { throw SignOnFault("The issuer sent no ID token.") }
        let token = try IDToken(text)
        try await verify(token, provider)
        try token.check(of: issuer, nonce: state.nonce, at: clock.now)
        let claims = token.claims
        let hasEmail = claims["email"] != nil
        let isEnough = hasEmail && (issuer.rules.isEmpty || issuer.rules.contains { $0.matches(claims) })
        guard !isEnough, let address = provider.userInfo, let access = answer["access_token"]?.stringValue else {
            return claims
        }
        do {
            return try await adding(userInfo: address, access, to: claims)
        } catch is SignOnFault where hasEmail {
            return claims
        }
    }

    private func exchange(_ code: String, _ state: SignOnState, _ provider: Provider) async throws -> JSONValue {
        var form = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": state.redirect,
            "code_verifier": state.verifier,
        ]
        var request = request(provider.token)
        if let secret = issuer.clientSecret, provider.takesBasic {
            let pair = "\(issuer.clientID.percentEncoded):\(secret.percentEncoded)"
            request.authorization = "Basic \(Data(pair.utf8).base64EncodedString())"
        } else {
            form["client_id"] = issuer.clientID
            form["client_secret"] = issuer.clientSecret
        }
        request.form = form
        let (status, body) = try await call(request)
        let answer = try? JSONValue(json: body)
        guard status == 200, let answer, case .object = answer else {
            let known = ["invalid_client", "invalid_grant", "unauthorized_client", "invalid_request", "invalid_scope"]
            let error = answer?["error"]?.stringValue ?? ""
            let words = known.contains(error) ? "says \(error)" : "answers \(status)"
            throw SignOnFault("The issuer does not take the code of this login: it \(words).")
        }
        return answer
    }

    private func verify(_ token: IDToken, _ provider: Provider) async throws {
        if token.isSigned(by: try await keys(provider)) { return }
        guard token.isSigned(by: try await keys(provider, isAgain: true)) else {
            throw SignOnFault("The ID token is signed by no key of the issuer.")
        }
    }

    /// Issuers that put little into the token have the rest here, as GitLab has the groups. Source: OpenID Connect Core 1.0 §5.3.
    private func adding(userInfo url: String, _ access: String, to claims: JSONValue) async throws -> JSONValue {
        var request = request(url)
        request.authorization = "Bearer \(access)"
        let (status, body) = try await call(request)
        guard status == 200, case .object(let more)? = try? JSONValue(json: body),
            case .object(let signed) = claims, more["sub"] == signed["sub"]
        else { throw SignOnFault("The issuer says nothing more of this person.") }
        return .object(more.merging(signed) { $1 })
    }

    // MARK: Discovery

    private func provider() async throws -> Provider {
        try await discoveries.value(for: issuer.url) { try await heldProvider() }
    }

    private func heldProvider() async throws -> Provider {
        let now = clock.now
        let held = self.held.withLock { $0 }
        if let provider = held.provider, now < provider.at + Self.lifetime { return provider.value }
        if let failed = held.failed, now < failed.at + Self.pause { throw failed.fault }
        do {
            let provider = try await discover()
            self.held.withLock { $0.provider = (provider, now) }
            return provider
        } catch let fault as SignOnFault {
            self.held.withLock { $0.failed = (fault, now) }
            throw fault
        }
    }

    private func discover() async throws -> Provider {
        let base = issuer.url.hasSuffix("/") ? String(issuer.url.dropLast()) : issuer.url
        let document = try await document("\(base)/.well-known/openid-configuration")
        guard document["issuer"]?.stringValue == issuer.url else {
            throw SignOnFault("The issuer calls itself by another address than the settings have.")
        }
        func address(_ name: String) throws(SignOnFault) -> String {
            guard let url = document[name]?.stringValue, Issuer.isAcceptable(url, isPrivate: issuer.isPrivate) else {
                throw SignOnFault("The issuer's configuration has no usable \(name).")
            }
            return url
        }
        var methods: [String]?
        if case .array(let names)? = document["token_endpoint_auth_methods_supported"] {
            methods = names.compactMap(\.stringValue)
        }
        return Provider(
            authorization: try address("authorization_endpoint"), token: try address("token_endpoint"),
            keys: try address("jwks_uri"), userInfo: try? address("userinfo_endpoint"),
            takesBasic: methods?.contains("client_secret_basic") ?? true)
    }

    /// - Parameter isAgain: whether those that are kept lack a key.
    private func keys(_ provider: Provider, isAgain: Bool = false) async throws -> [SigningKey] {
        try await keyFetches.value(for: isAgain ? "again" : "") { try await heldKeys(provider, isAgain: isAgain) }
    }

    private func heldKeys(_ provider: Provider, isAgain: Bool) async throws -> [SigningKey] {
        let now = clock.now
        if let keys = held.withLock({ $0.keys }) {
            if now < keys.at + (isAgain ? Self.pause : Self.lifetime) { return keys.value }
        }
        if let failed = held.withLock({ $0.keysFailed }), now < failed.at + Self.pause { throw failed.fault }
        do {
            guard case .array(let all)? = try await document(provider.keys)["keys"] else {
                throw SignOnFault("The issuer's keys cannot be read.")
            }
            let keys = all.prefix(64).compactMap(SigningKey.init)
            held.withLock { $0.keys = (keys, now) }
            return keys
        } catch let fault as SignOnFault {
            held.withLock { $0.keysFailed = (fault, now) }
            throw fault
        }
    }

    private func document(_ url: String) async throws -> JSONValue {
        let (status, body) = try await call(request(url))
        guard status == 200, let value = try? JSONValue(json: body) else {
            throw SignOnFault("The issuer cannot be reached, or answers with something else than JSON (\(status)).")
        }
        return value
    }

    private func request(_ url: String) -> IssuerRequest {
        IssuerRequest(url: url, isPrivate: issuer.isPrivate, trustRoots: issuer.trustRoots)
    }
}

/// The state of a login by an issuer, for when the browser comes back. It travels sealed, and bound to the visit.
struct SignOnState: Sendable, Hashable {
    let issuer: String
    let nonce: String
    /// The secret half of PKCE. Source: RFC 7636 §4.1.
    let verifier: String
    let redirect: String
    let next: String
    let expiresAt: Instant

    /// How long a person may take at the issuer.
    static let lifetime = Duration.seconds(600)
    /// A longer page to go to is forgotten: it travels with the state.
    static let nextBytesMax = 400

    init(issuer: String, redirect: String, next: String, at now: Instant) {
        self.issuer = issuer
        self.redirect = redirect
        self.next = next.utf8.count <= Self.nextBytesMax ? next : ""
        nonce = Data([UInt8].random(count: 24)).base64URL
        verifier = Data([UInt8].random(count: 32)).base64URL
        expiresAt = now + Self.lifetime
    }

    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 6, let end = Int64(lines[5]) else { return nil }
        (issuer, nonce, verifier, redirect, next) = (lines[0], lines[1], lines[2], lines[3], lines[4])
        expiresAt = Instant(milliseconds: end)
    }

    var text: String { [issuer, nonce, verifier, redirect, next, "\(expiresAt.milliseconds)"].joined(separator: "\n") }
}
