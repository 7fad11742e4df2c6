/// One request over HTTP/2 and its answer on the way out.
final class HTTP2Stream {
    let id: Int32
    var method = ""
    var target = ""
    var authority: String?
    var fields: [ServiceRequest.Field] = []
    var body: [UInt8] = []
    var judged: Station.Judged?
    var answerBody: [UInt8] = []
    var answerSent = 0
    /// Its body never comes.
    var isStalled = false

    init(id: Int32) {
        self.id = id
    }

    func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        let text = String(decoding: value, as: UTF8.self)
        switch name.count {
        case 5 where name.equals(":path"): target = text
        case 7 where name.equals(":method"): method = text
        case 10 where name.equals(":authority"): authority = text
        case _ where name.first == UInt8(ascii: ":"): break
        default: fields.append(.init(name: String(decoding: name, as: UTF8.self), value: text))
        }
    }

    func readBody(_ bytes: UnsafeRawBufferPointer) {
        if body.count <= HTTP1Conversation.bodyBytesMax { body.append(contentsOf: bytes) }
    }

    var request: ServiceRequest {
        ServiceRequest(
            method: method, target: target, fields: fields, authority: authority, body: body, isHTTP2: true)
    }
}
