import Crypto
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// The policy of pages: only our own style sheet and script are run, no page frames ours, and no script makes HTML of a text. Source:
    /// W3C Content Security Policy Level 3, Trusted Types.
    static let policy = """
        default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
        base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// - Parameter pictures: another origin that pictures of this page may come from.
    static func html(_ text: String, status: HTTPResponse.Status = .ok, pictures: String? = nil) -> Response {
        let policy =
            pictures.map { Self.policy.replacing("img-src 'self'", with: "img-src 'self' \($0)") } ?? Self.policy
        let headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .contentSecurityPolicy: policy, .cacheControl: "no-store",
        ]
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    static func seeOther(_ path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path, .cacheControl: "no-store"])
    }

    /// A file to be stored, never shown.
    static func file(_ text: String, named name: String, type: String) -> Response {
        file(ResponseBody(byteBuffer: ByteBuffer(string: text)), named: name, type: type)
    }

    static func file(_ body: ResponseBody, named name: String, type: String) -> Response {
        let headers: HTTPFields = [
            .contentType: "\(type); charset=utf-8", .contentDisposition: "attachment; filename=\"\(name)\"",
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}

/// The style sheet, the script or the icon. Their address has a hash of their content, so they never change.
enum AssetResponse {
    static func make(_ name: String) throws -> Response {
        guard let bytes = Asset.bytes(name) else { throw APIError.missing("file") }
        let type =
            switch name.split(separator: ".").last {
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            default: "image/svg+xml"
            }
        return Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// The cookies of the dashboard: the session's, one that a form before the login is bound to, one that says who logged in
/// with the browser before (`PersonService.knownBrowser`), and the time zone.
enum Cookie: String {
    case session = "belfry_session"
    case visit = "belfry_visit"
    case browser = "belfry_browser"
    /// The time zone of the browser, which our script sets.
    case zone = "belfry_zone"

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

/// An address within the dashboard, with each part and value percent-encoded.
enum Address {
    static func path(_ parts: String...) -> String { joined(parts) }

    static func of(_ application: Application, _ parts: String...) -> String {
        joined(["apps", application.uuid.lowercased] + parts)
    }

    private static func joined(_ parts: [String]) -> String {
        // Browsers take a name of dots for a folder, however it is encoded. A blank behind it is no part of a name.
        let parts = parts.filter { !$0.isEmpty }.map { [".", ".."].contains($0) ? $0 + " " : $0 }
        return "/" + ([Dashboard.root] + parts.map(\.percentEncoded)).joined(separator: "/")
    }

    /// The address with a query of those values that are not empty.
    static func query(_ path: String, _ values: [(String, String)]) -> String {
        let items = values.filter { !$0.1.isEmpty }.map { "\($0.0.percentEncoded)=\($0.1.percentEncoded)" }
        return items.isEmpty ? path : path + "?" + items.joined(separator: "&")
    }

    /// The page to go to after the login: only a page of the dashboard, whatever was asked for.
    static func checked(next: String) -> String {
        let home = "/" + Dashboard.root
        let isSafe = next.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        guard isSafe, next == home || next.hasPrefix(home + "/") || next.hasPrefix(home + "?"),
            !next.hasPrefix(home + "/log"), next.utf8.count <= 2_048,
            !["//", "/..", "/.%2", "/%2e", "/%2E"].contains(where: next.contains)
        else { return home }
        return next
    }
}
