import FoundationEssentials

@testable import BelfryService

/// Whatever a SIP proxy sends to wake a device, it names a token of its platform with content that fits there, or is refused with a
/// field.
///
/// What comes before the first line break is the query.
func sipWakes(_ bytes: [UInt8]) {
    let query = bytes.prefix { $0 != UInt8(ascii: "\n") }
    do throws(InvalidInput) {
        let wake = try SIPWake(
            query: String(decoding: query, as: UTF8.self), body: Array(bytes.dropFirst(query.count + 1)))
        let target = try wake.target()
        precondition(!target.token.isEmpty && target.names.count == 2)
        try wake.content(for: target.kind).check(for: [target.kind], receiptID: receiptID)
    } catch {
        precondition(!error.field.isEmpty && !error.problem.isEmpty)
    }
}

private let receiptID = UUID()
