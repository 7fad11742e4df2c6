extension PCF {
    /// The body of `POST /v1/registration` and `PUT /v1/registration/:device_uuid`.
    package struct RegistrationRequest: Sendable, Hashable {
        package private(set) var registrationToken: RegistrationToken?
        package private(set) var about = Device.About()
        package private(set) var tags: Tags?
        /// The user id as the app sent it: signed, unless the operator switched that off. `""` clears; nil does so in a POST alone.
        package private(set) var customUserID: String?
        /// The language and the time zone of the device. PCF has neither.
        private var language: String?
        private var timeZone: String?
        private var encryptionKeys: EncryptionKeys?
        private var profileFields = ProfileFields()
        private(set) var ignored = IgnoredFields()

        /// The details to keep beside the device. Throws where one of them is not valid.
        func detail() throws(InvalidInput) -> DeviceDetail.Change {
            try DeviceDetail.Change(told: language, timeZone: timeZone, encryptionKeys: encryptionKeys)
        }

        /// The profile by which audiences find the device. Throws where a part of it is not valid.
        func profile() throws(InvalidInput) -> DeviceProfile { try profileFields.profile() }

        package enum Tags: Sendable, Hashable {
            /// `["a", "b"]`: the full set.
            case all([String])
            /// `{"subscribe": ["a"], "unsubscribe": ["b"]}`: the changes.
            case change(subscribe: [String], unsubscribe: [String])
        }

        /// Reads a body; unknown keys are ignored, and `null` counts as missing. Throws on invalid values.
        package static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var request = Self()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in
                try request.read(key, from: &reader)
            }
            return request
        }

        private mutating func read(_ key: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch key {
            case "registration_token": registrationToken = try RegistrationToken(from: &reader)
            case "os": about.os = try reader.string("os")
            case "os_version": about.osVersion = try reader.string("os_version")
            case "device_model": about.model = try reader.string("device_model")
            case "device_manufacturer": about.manufacturer = try reader.string("device_manufacturer")
            case "device_alias": about.alias = try reader.string("device_alias")
            case "custom_user_id": customUserID = try reader.string("custom_user_id")
            case "tags": tags = try Self.tags(from: &reader, &ignored)
            case "language": language = try reader.string("language")
            case "time_zone": timeZone = try reader.string("time_zone")
            case "encryption_keys": encryptionKeys = try EncryptionKeys(key, from: &reader)
            default:
                if try profileFields.read(key, from: &reader) { return }
                ignored.note(key, known: Self.fields)
                try reader.skip()
            }
        }

        private static let fields =
            [
                "registration_token", "os", "os_version", "device_model", "device_manufacturer", "device_alias",
                "custom_user_id", "tags", "language", "time_zone", "encryption_keys",
            ] + ProfileFields.names

        private static func tags(
            from reader: inout JSONReader, _ ignored: inout IgnoredFields
        ) throws(InvalidInput) -> Tags? {
            guard reader.isAtObject() else { return try reader.strings("tags").map(Tags.all) }
            var subscribe: [String]?
            var unsubscribe: [String]?
            try reader.object("tags") { reader, key throws(InvalidInput) in
                switch key {
                case "subscribe": subscribe = try reader.strings("tags.subscribe")
                case "unsubscribe": unsubscribe = try reader.strings("tags.unsubscribe")
                default:
                    ignored.note(key, under: "tags.", known: ["subscribe", "unsubscribe"])
                    try reader.skip()
                }
            }
            return .change(subscribe: subscribe ?? [], unsubscribe: unsubscribe ?? [])
        }
    }
}

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
