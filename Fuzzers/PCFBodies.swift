import FoundationEssentials

@testable import BelfryService

/// Whatever bytes a client sends as the body of any request, the target answers with a value or an `InvalidInput`.
///
/// The first byte says which request it is.
func pcfBodies(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    do {
        try read(Array(bytes.dropFirst()), as: first)
    } catch let error as InvalidInput {
        precondition(!error.field.isEmpty || !error.problem.isEmpty)
    } catch {
        preconditionFailure("a stranger among the errors: \(error)")
    }
}

private func read(_ body: [UInt8], as request: UInt8) throws {
    switch request {
    case UInt8(ascii: "r"): _ = try PCF.RegistrationRequest.parse(body)
    case UInt8(ascii: "s"): _ = try PCF.PushBody.parse(body, isChange: true).change(of: nil, at: .zero)
    case UInt8(ascii: "t"): _ = try PCF.TopicRequest.parse(body).topic(at: .zero)
    case UInt8(ascii: "b"): _ = try PCF.TopicBatchRequest.parse(body)
    case UInt8(ascii: "d"): _ = try PCF.TopicDeletion.parse(body)
    case UInt8(ascii: "T"): for item in try PCF.TagBatch.parse(body) { _ = (item.fault, item.subscription) }
    case UInt8(ascii: "l"): _ = try PCF.LocationRequest.parse(body).place(over: nil)
    case UInt8(ascii: "g"): _ = try PCF.LocationGroupRequest.parse(body).plan(over: nil)
    case UInt8(ascii: "G"): _ = try PCF.GeofenceRequest.parse(body).plan(over: nil)
    case UInt8(ascii: "A"):
        var reader = JSONReader(body)
        let apple = try ApplePush(try reader.value("message.apns"))
        try Push.Content(body: nil, apple: apple).check(for: Set(PlatformKind.allCases), receiptID: UUID())
    case UInt8(ascii: "a"): _ = try PCF.AnalyticsRequest.parse(body)
    default:
        let push = try PCF.PushBody.parse(body)
        try push.content?.check(for: Set(PlatformKind.allCases), receiptID: UUID())
    }
}
