package import FoundationEssentials

/// A token of a contact, and the reason why it no longer reaches the contact.
package struct CarmaDevice: Sendable, Hashable {
    package let applicationKey: Key<Application>
    /// The user's id.
    package let contact: String
    /// The token as it is returned to the app: hex in lower case, or the text of another provider.
    package let token: String
    package let platformKey: Key<Platform>
    package let device: UUID
    package var country: String?
    package var invalidation = Invalidation.none
    package var invalidatedAt: Instant?

    /// Our own numbers but 0, the only one that Carma's guide shows.
    package enum Invalidation: Int64, Sendable, Hashable {
        case none = 0
        case byApp = 1
        /// APNs or FCM rejected the token.
        case byProvider = 2
        case replaced = 3
    }

    /// The most tokens that are kept of a contact: those added last.
    package static let perContact = 100
    package static let countryBytesMax = 255
}

/// A change to a contact, as an app sends it: missing fields stay as they are.
package struct CarmaContactChange: Sendable, Hashable {
    package var originalID: String?
    package var attributes: [String: UserAttribute?] = [:]
    package var devices: [Device] = []

    package struct Device: Sendable, Hashable {
        package var token: String?
        package var about = BelfryService.Device.About()
        package var country: String?
        /// Whether it comes from an answer that calls it invalid, so that nothing registers it again.
        package var isInvalid = false

        package init() {}
    }

    package init() {}
}

/// A contact with all its devices.
package struct CarmaContact: Sendable {
    package let app: CarmaApp
    package let user: User
    package let devices: [(row: CarmaDevice, device: Device?)]
}

/// The names of a contact's attributes.
package enum CarmaAttribute {
    /// Texts of a contact, in the order of the guide's struct.
    package static let texts = [
        "country", "firstName", "lastName", "middleName", "emailAddress", "title", "dateOfBirth", "city", "zipcode",
        "sex", "mobileNumber",
    ]
    package static let times = ["optOutDate", "dateOfInvalidation", "optOutMobileDate"]
    /// The prefix of the customer's own properties.
    package static let property = "property."
    /// The guide's names of what a device registers with.
    static let registered = [
        "registration_token": "devicetoken", "device_manufacturer": "manufacturer", "device_model": "model",
        "os_version": "osVersion",
    ]
}
