import HTTPTypes
import NIOCore

/// An answer on its way to a connection: in one piece, or begun, continued and ended.
enum AnswerPart: Sendable {
    case whole(HTTPResponse, ByteBuffer)
    case head(HTTPResponse)
    case body(ByteBuffer)
    case end
}
