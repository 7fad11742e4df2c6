import HTTPTypes
import NIOCore

/// A response on its way to a connection: in one piece, or begun, continued and ended.
enum ResponsePart: Sendable {
    case whole(HTTPResponse, ByteBuffer)
    /// All that a request with HEAD is answered with.
    case bodiless(HTTPResponse)
    case head(HTTPResponse)
    case body(ByteBuffer)
    case end
}
