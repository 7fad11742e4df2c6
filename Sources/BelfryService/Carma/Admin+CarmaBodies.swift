import FoundationEssentials

extension Admin {
    struct NewCarmaAccount: Body, Sendable {
        static let fields = ["customer_id", "user", "password"]
        private var customer: Int64?
        private var user: String?
        private var password: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "customer_id": customer = try reader.customer(field)
            case "user": user = try reader.string(field)
            default: password = try reader.string(field)
            }
        }

        func required() throws(InvalidInput) -> (Int64, String, String) {
            (try customer.given(as: "customer_id"), try user.given(as: "user"), try password.given(as: "password"))
        }
    }

    struct NewCarmaPassword: Body, Sendable {
        static let fields = ["password"]
        private(set) var password: String?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            password = try reader.string(field)
        }
    }

    struct NewCarmaApp: Body, Sendable {
        static let fields = ["customer_id", "app_id", "app_uuid"]
        private var customer: Int64?
        private var appID: String?
        private var uuid: UUID?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "customer_id": customer = try reader.customer(field)
            case "app_id": appID = try reader.string(field)
            default: uuid = try reader.uuid(field)
            }
        }

        func required() throws(InvalidInput) -> (Int64, String, UUID) {
            (try customer.given(as: "customer_id"), try appID.given(as: "app_id"), try uuid.given(as: "app_uuid"))
        }
    }

    struct NewCarmaTrigger: Body, Sendable {
        static let fields = ["customer_id", "app_id", "template"]
        private var customer: Int64?
        private var appID: String?
        private var template: CarmaTemplate?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "customer_id": customer = try reader.customer(field)
            case "app_id": appID = try reader.string(field)
            default: template = try CarmaTemplate(try reader.value(field, bytesMax: CarmaTemplate.bytesMax))
            }
        }

        func required() throws(InvalidInput) -> (Int64, String, CarmaTemplate) {
            (try customer.given(as: "customer_id"), try appID.given(as: "app_id"), try template.given(as: "template"))
        }
    }
}

extension JSONReader {
    /// A customer's number, as it stands in the paths of Carma.
    fileprivate mutating func customer(_ field: String) throws(InvalidInput) -> Int64? {
        guard let number = try integer(field) else { return nil }
        guard number > 0 else { throw InvalidInput(field: field, "is \(number), it has to be 1 or more") }
        return number
    }
}
