/// A valid message apart from its token. A message that differs only in the token need not be validated again: a push
/// to many devices is the same message many times.
struct FCMTemplate: Sendable {
    private let head: [UInt8]
    private let tail: [UInt8]

    private static let before = Array(#""token":""#.utf8)

    /// nil unless the token appears once, unescaped, after its name.
    init?(_ body: [UInt8], token: String) {
        let token = Array(token.utf8)
        let places = body.indices.dropLast(token.count).filter { body[$0...].starts(with: token) }
        guard !token.isEmpty, let place = places.first, places.count == 1 else { return nil }
        let end = place + token.count
        guard body[..<place].suffix(Self.before.count).elementsEqual(Self.before), body[end] == UInt8(ascii: "\"")
        else { return nil }
        head = Array(body[..<place])
        tail = Array(body[end...])
    }

    /// The token of a message that otherwise equals this one.
    func token(of body: [UInt8]) -> String? {
        guard body.count > head.count + tail.count, body.starts(with: head), body.suffix(tail.count).elementsEqual(tail)
        else { return nil }
        let token = String(decoding: body[head.count..<body.count - tail.count], as: UTF8.self)
        return FCMMessage.isToken(token) ? token : nil
    }
}
