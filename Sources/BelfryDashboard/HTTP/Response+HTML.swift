import BelfryAPI
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
        let headers: HTTPFields = [
            .contentType: "\(type); charset=utf-8", .contentDisposition: "attachment; filename=\"\(name)\"",
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// The style sheet, the script or the icon. Their address has a hash of their content, so they never change.
enum AssetResponse {
    static func make(_ name: String) throws -> Response {
        guard let bytes = Asset.bytes(name) else { throw APIError.none("file") }
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
