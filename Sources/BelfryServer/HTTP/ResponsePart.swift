import HTTPTypes
import NIOCore

/// A response on its way to a connection: in one piece, or begun, continued and ended.
enum ResponsePart: Sendable {
    case whole(HTTPResponse, ByteBuffer)
    /// A complete response to HEAD.
    case bodiless(HTTPResponse)
    case head(HTTPResponse)
    case body(ByteBuffer)
    case end
}
