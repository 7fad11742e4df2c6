import CContract
import Crypto
import HTTPTypes
package import Hummingbird
import NIOCore

/// Serves `api/openapi.yaml`, which describes every path of every API. It contains no secret, so it needs no
/// credentials.
package struct Contract: Sendable {
    package init() {}

    package func add(to router: Router<APIContext>) {
        router.serve("openapi.yaml", [.get: { request, _ in Self.response(to: request) }])
    }

    static let text = ByteBuffer(
        bytes: UnsafeBufferPointer(start: belfry_contract_bytes(), count: Int(belfry_contract_count())))

    private static let tag = #""\#(Array(SHA256.hash(data: text.readableBytesView).prefix(16)).hex)""#

    private static func response(to request: Request) -> Response {
        // A new version of the server may have the same address at any time, so caches must revalidate.
        let headers: HTTPFields = [.eTag: tag, .cacheControl: "no-cache"]
        if request.headers[.ifNoneMatch]?.contains(tag) == true {
            return Response(status: .notModified, headers: headers)
        }
        // Source: RFC 9512 §2.1.
        return Response(
            status: .ok, headers: headers + [.contentType: "application/yaml"], body: ResponseBody(byteBuffer: text))
    }
}
