/// The token of a registration as an app sends it: a text or, of a browser, the object that `PushSubscription.toJSON()` returns.
package struct RegistrationToken: Sendable, Hashable {
    private let text: String
    private let isObject: Bool

    private static let field = "registration_token"

    package init(_ text: String) { (self.text, isObject) = (text, false) }

    /// nil for `null`.
    init?(from reader: inout JSONReader) throws(InvalidInput) {
        isObject = reader.isAtObject()
        if isObject {
            let value = try reader.value(Self.field, bytesMax: DeviceToken.bytesMax)
            text = String(decoding: value.encoded, as: UTF8.self)
        } else {
            guard let text = try reader.string(Self.field) else { return nil }
            self.text = text
        }
    }

    func deviceToken(for kind: PlatformKind) throws(InvalidInput) -> DeviceToken {
        guard !isObject || kind == .web else {
            throw InvalidInput(field: Self.field, "has to be a string, it is an object")
        }
        return try DeviceToken(text, for: kind)
    }
}
