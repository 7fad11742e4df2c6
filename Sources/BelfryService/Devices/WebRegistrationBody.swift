import FoundationEssentials

extension Web {
    /// The body of `POST registrations` and `POST registrations/end`. Unknown members are refused.
    struct RegistrationBody {
        private var subscription: DeviceToken?
        /// The subscription that the browser had before.
        private(set) var previous: DeviceToken?
        /// The UUID that the browser was given.
        private(set) var device: UUID?
        private(set) var proof: String?
        private(set) var about = Device.About()
        private(set) var topics = Registration.TopicChange.keep
        /// Signed; `""` clears, nil keeps.
        private(set) var customUserID: String?
        private var language: String?
        private var timeZone: String?
        private var encryptionKeys: EncryptionKeys?
        private var profileFields = ProfileFields()

        private static let fields =
            [
                "subscription", "previous", "device_uuid", "proof", "topics", "custom_user_id", "os", "os_version",
                "device_model", "device_manufacturer", "language", "time_zone", "encryption_keys",
            ] + ProfileFields.names
        /// Fewer than apps may name, since anyone can send them.
        static let topicsMax = 64

        private init() {}

        static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var body = Self()
            try JSONReader.document(bytes) { reader, field throws(InvalidInput) in try body.read(field, from: &reader) }
            return body
        }

        /// The browser's subscription, which nothing can be done without.
        func token() throws(InvalidInput) -> DeviceToken {
            guard let subscription else { throw InvalidInput.missing("subscription") }
            return subscription
        }

        /// The details to keep beside the device. Throws where one of them is not valid.
        func detail() throws(InvalidInput) -> DeviceDetail.Change {
            try DeviceDetail.Change(told: language, timeZone: timeZone, encryptionKeys: encryptionKeys)
        }

        func profile() throws(InvalidInput) -> DeviceProfile { try profileFields.profile() }

        private mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "subscription": subscription = try Self.subscription(field, from: &reader)
            case "previous": previous = try Self.subscription(field, from: &reader)
            case "device_uuid": device = try reader.uuid(field)
            case "proof": proof = try reader.string(field)
            case "topics": topics = try Self.topics(from: &reader)
            case "custom_user_id": customUserID = try reader.string(field)
            case "os": about.os = try reader.string(field)
            case "os_version": about.osVersion = try reader.string(field)
            case "device_model": about.model = try reader.string(field)
            case "device_manufacturer": about.manufacturer = try reader.string(field)
            case "language": language = try reader.string(field)
            case "time_zone": timeZone = try reader.string(field)
            case "encryption_keys": encryptionKeys = try EncryptionKeys(field, from: &reader)
            default:
                guard try profileFields.read(field, from: &reader) else {
                    throw InvalidInput.unknown(field, instead: Self.fields)
                }
            }
        }

        static func subscription(
            _ field: String, from reader: inout JSONReader
        ) throws(InvalidInput) -> DeviceToken? {
            let value = try reader.value(field, bytesMax: 4_096)
            guard !value.isNull else { return nil }
            do {
                // Pages send what `JSON.stringify(subscription)` made, too.
                return try DeviceToken(value.stringValue ?? value.storedText, for: .web)
            } catch {
                throw InvalidInput(field: error.field.replacing("registration_token", with: field), error.problem)
            }
        }

        /// All of them in an array, or changes in an object, as apps write them.
        private static func topics(from reader: inout JSONReader) throws(InvalidInput) -> Registration.TopicChange {
            guard reader.isAtObject() else {
                return try reader.strings("topics").map { (names) throws(InvalidInput) in
                    .replace(try checked(names, "topics"))
                } ?? .keep
            }
            var subscribe: Set<String> = []
            var unsubscribe: Set<String> = []
            try reader.object("topics") { reader, key throws(InvalidInput) in
                let names = try checked(try reader.strings("topics.\(key)") ?? [], "topics.\(key)")
                switch key {
                case "subscribe": subscribe = names
                case "unsubscribe": unsubscribe = names
                default: throw InvalidInput.unknown("topics.\(key)", instead: ["subscribe", "unsubscribe"])
                }
            }
            return .change(subscribe: subscribe, unsubscribe: unsubscribe)
        }

        private static func checked(_ names: [String], _ field: String) throws(InvalidInput) -> Set<String> {
            guard names.count <= topicsMax else {
                throw InvalidInput(field: field, "has \(names.count) topics, the limit for web pages is \(topicsMax)")
            }
            return Set(try Topic.normalized(names, field: field))
        }
    }
}
