import FoundationEssentials
import HTTPTypes
import Hummingbird

extension Response {
    /// What the admin API answers with, its members in alphabetical order.
    init(status: HTTPResponse.Status = .ok, _ reply: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        self.init(status: status, json: ByteBuffer(bytes: try encoder.encode(reply)))
    }

    /// 201 with what was made.
    static func created(_ reply: some Encodable) throws -> Response { try Response(status: .created, reply) }
}
