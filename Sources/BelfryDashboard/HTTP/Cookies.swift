import BelfryAPI
import BelfryService
import Crypto
import HTTPTypes
import Hummingbird

/// The cookies of the dashboard: the session's, one that a form before the login is bound to, and one that says who logged in
/// with the browser before (`PersonService.knownBrowser`).
enum Cookie: String {
    case session = "belfry_session"
    case visit = "belfry_visit"
    case browser = "belfry_browser"

    func value(in request: Request) -> String? {
        for line in request.headers[values: .cookie] {
            for item in line.split(separator: ";") {
                let pair = item.split(separator: "=", maxSplits: 1)
                if pair.count == 2, String(pair[0]).trimmed == rawValue { return String(pair[1]).trimmed }
            }
        }
        return nil
    }

    /// The header of the cookie, which scripts cannot read, and browsers do not send with forms of other sites. Source: RFC 6265bis §4.1.2.
    ///
    /// - Parameters:
    ///   - seconds: how long the browser keeps it; 0 removes it.
    ///   - path: where browsers find the server.
    func header(_ value: String, seconds: Int64, below path: PublicPath, isSecure: Bool) -> String {
        "\(rawValue)=\(value); Path=\(path.browsers(Address.path())); Max-Age=\(seconds); HttpOnly; SameSite=Lax"
            + (isSecure ? "; Secure" : "")
    }
}

/// The token in every form: bound to the session, or to the visit before it, and worth nothing without its cookie.
enum FormToken {
    static func of(_ cookie: String) -> String { Array(SHA256.hash(data: Array("form:\(cookie)".utf8))).hex }

    static func isRight(_ token: String, for cookie: String) -> Bool {
        let (given, right) = (Array(token.utf8), Array(of(cookie).utf8))
        guard given.count == right.count else { return false }
        return zip(given, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension HTTPField.Name {
    /// Source: W3C Fetch Metadata Request Headers.
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")
    static let referrer = HTTPField.Name("Referrer-Policy")
    static let frameOptions = HTTPField.Name("X-Frame-Options")
}

extension Request {
    /// Whether the browser says that a page of another site sent this. Where the browser does not say, the form's token decides alone: over
    /// plain HTTP it says nothing of the site, and `null` of the origin of our pages, which send no referrer. `none` stands for requests
    /// that a person began in the browser itself, such as a reload.
    ///
    /// Source: W3C Fetch Metadata §2; WHATWG Fetch, "append a request `Origin` header".
    ///
    /// - Parameter host: the browser's name for the server, from a trusted proxy.
    func isFromElsewhere(than address: ServerAddress, host: String?, _ context: APIContext) -> Bool {
        if let name = HTTPField.Name.secFetchSite, let site = headers[name] {
            return !["same-origin", "none"].contains(site)
        }
        guard let origin = headers[.origin], origin != "null" else { return false }
        let parts = origin.split(separator: "/", omittingEmptySubsequences: true)
        return !(parts.count == 2 && [head.authority, host].contains(String(parts[1])))
            && !address.isOwn(origin: origin, self, context)
    }
}
