import FoundationEssentials

@testable import BelfryService

/// Whatever a caller has the server keep, it is read back as what it was; and what stands in a column is read as a value that is
/// written in the same words again, or is refused.
///
/// The first byte says what it is: in upper case what a caller sends, in lower case what a column holds.
func storedContent(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    do throws(InvalidInput) {
        try keep(text, as: first)
    } catch {
        precondition(!error.field.isEmpty || !error.problem.isEmpty)
    }
}

private func keep(_ text: [UInt8], as kind: UInt8) throws(InvalidInput) {
    switch kind {
    case UInt8(ascii: "P"):
        let push = try PCF.PushBody.parse(text).pushRequest()
        try push.content.check(for: [], receiptID: UUID())
        expectKept(push.content)
        expectKept(push.target)
    case UInt8(ascii: "A"):
        var reader = JSONReader(text)
        let content = Push.Content(body: nil, apple: try ApplePush(try reader.value("message.apns")))
        try content.check(for: [], receiptID: UUID())
        expectKept(content)
    case UInt8(ascii: "G"): expectKept(try PCF.GeofenceRequest.parse(text).plan(over: nil).data)
    case UInt8(ascii: "c"): expectKept(try Push.Content(stored: text))
    case UInt8(ascii: "t"): expectKept(try Target(stored: text))
    case UInt8(ascii: "a"): expectKept(try Audience(stored: text))
    default: expectKept(try GeofenceData(stored: text))
    }
}

/// A value that is kept as text.
private protocol Stored: Equatable {
    init(stored text: [UInt8]) throws(InvalidInput)
    var storedText: String { get }
}

extension Push.Content: Stored {}
extension Target: Stored {}
extension Audience: Stored {}
extension GeofenceData: Stored {}

private func expectKept(_ value: some Stored) {
    let text = value.storedText
    do {
        let read = try type(of: value).init(stored: Array(text.utf8))
        precondition(read == value, "what was accepted is read back as something else: \(text)")
    } catch {
        preconditionFailure("what was accepted is not read back: \(error): \(text)")
    }
}
