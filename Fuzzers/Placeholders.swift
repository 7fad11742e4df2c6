import FoundationEssentials

@testable import BelfryService

/// Whatever stands in a text with placeholders, it is refused with its field, or a payload that was encoded once has the same as
/// one of its own.
///
/// The first byte chooses the language.
func placeholders(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    var content = Push.Content(body: String(decoding: bytes.dropFirst(), as: UTF8.self), isTemplate: true)
    content.language = ["en", "ru", "ar", "fr", "ja", "xx"][Int(first) % 6]
    do throws(InvalidInput) {
        guard let template = try ContentTemplate(content) else { return }
        let spliced = PayloadTemplate(try rendered(template.content), template)
        let own = try rendered(try content.filled(with: sampleValues))
        precondition(spliced.payload(for: sampleValues, bytesMax: .max) == own)
        _ = try content.longest()
    } catch {
        precondition(error.field.hasPrefix("message") && !error.problem.isEmpty)
    }
}

private let sampleValues: PersonalizedValues = {
    var values = PersonalizedValues.Values(badge: 21)
    (values.userID, values.timeZone) = ("emma&co", "Europe/Vienna")
    values.attributes = [
        "a": .text("\"ä\\"), "n": .number(-1_234.5), "t": .time(Instant(milliseconds: 1_772_321_400_000)),
        "d": .text("2027-03-01"), "f": .flag(true),
    ]
    return PersonalizedValues(values)
}()

private func rendered(_ content: Push.Content) throws(InvalidInput) -> [UInt8] {
    try IOSPayload(content, receiptID: nil, sentAt: .zero).bytes
}
