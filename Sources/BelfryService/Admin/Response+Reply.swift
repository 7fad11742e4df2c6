import FoundationEssentials
import HTTPTypes
import Hummingbird

extension Response {
    /// A reply of the admin API, its members in alphabetical order.
    init(status: HTTPResponse.Status = .ok, _ reply: some Encodable) throws {
        self.init(status: status, json: ByteBuffer(bytes: try WrittenJSON.encode(reply)))
    }

    /// 201 with the thing that was created.
    static func created(_ reply: some Encodable) throws -> Response { try Response(status: .created, reply) }
}
