import CWebSDK
import Crypto
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import NIOCore

/// Serves the SDK for web pages: `/sdk/web/v1/…`. It contains no secret, so it needs no credentials.
package struct WebSDK: Sendable {
    private let path: PublicPath

    package init(below path: PublicPath = PublicPath(of: nil)) { self.path = path }

    package func add(to router: Router<APIContext>) {
        for file in Self.files {
            router.serve(RouterPath("sdk/web/v1/\(file.name)"), [.get: { request, _ in file.response(to: request) }])
        }
        router.serve("sdk/web/v1/integrity.json", [.get: { [path] _, _ in Self.integrity(path) }])
    }

    static let files = [
        SDKFile("belfry.js", "text/javascript;charset=utf-8", belfry_web_sdk_script()),
        SDKFile("belfry.d.ts", "text/plain;charset=utf-8", belfry_web_sdk_types()),
        SDKFile("belfry-worker.js", "text/javascript;charset=utf-8", belfry_web_sdk_worker()),
        SDKFile("belfry-encryption.js", "text/javascript;charset=utf-8", belfry_web_sdk_encryption()),
        SDKFile("test", "text/html;charset=utf-8", belfry_web_sdk_test_page()),
        SDKFile("test.js", "text/javascript;charset=utf-8", belfry_web_sdk_test_script()),
    ]

    /// The hash of each file in the form of the `integrity` attribute, and its address that never changes.
    private static func integrity(_ path: PublicPath) -> Response {
        .object(headers: [.accessControlAllowOrigin: "*", .cacheControl: "no-cache"]) { json in
            json.array("files", files) { json, file in
                json.object { json in
                    json.string("name", file.name)
                    json.integer("bytes", Int64(file.bytes.readableBytes))
                    json.string("integrity", file.integrity)
                    json.string("url", path.browsers("/sdk/web/v1/\(file.name)?v=\(file.version)"))
                }
            }
        }
    }
}

/// A file of the SDK, as the server was built with it.
struct SDKFile: Sendable {
    let name: String
    let bytes: ByteBuffer
    /// Source: W3C Subresource Integrity §3.1.
    let integrity: String
    /// The first digits of a hash: an address with it means these bytes and no others.
    let version: String
    private let type: String
    /// Only the test page is one that browsers run: of what the server serves itself, it is the one page that may run scripts.
    private var isPage: Bool { type.hasPrefix("text/html") }

    init(_ name: String, _ type: String, _ file: belfry_web_sdk_file) {
        self.name = name
        self.type = type
        bytes = ByteBuffer(bytes: UnsafeBufferPointer(start: file.bytes, count: Int(file.count)))
        integrity = "sha384-\(Data(SHA384.hash(data: bytes.readableBytesView)).base64EncodedString())"
        version = Array(SHA256.hash(data: bytes.readableBytesView).prefix(8)).hex
    }

    func response(to request: Request) -> Response {
        let tag = "\"\(version)\""
        // Pages of any site load the script; it is the same for all.
        var headers: HTTPFields = [
            .contentType: type, .eTag: tag, .accessControlAllowOrigin: "*", .cacheControl: cacheControl(request),
        ]
        if name == "belfry-worker.js" {
            headers[.serviceWorkerAllowed] = "/"
            // A worker obeys the policy of its own script, and it posts to the server.
            headers[.contentSecurityPolicy] = "default-src 'none'; connect-src 'self'"
        }
        if isPage {
            headers[.contentSecurityPolicy] =
                "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; worker-src 'self'; "
                + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        }
        if request.headers[.ifNoneMatch]?.contains(tag) == true {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    private func cacheControl(_ request: Request) -> String {
        request.uri.queryParameters["v"].map { $0 == version } ?? false
            ? "public, max-age=31536000, immutable" : "public, max-age=3600, stale-while-revalidate=86400"
    }
}
