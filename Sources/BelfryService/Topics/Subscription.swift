package import FoundationEssentials

/// Topics that a back end adds to one device of its application.
package struct Subscription: Sendable, Hashable {
    package let device: Name
    /// The normalized names.
    package let topics: Set<String>

    /// A name that a back end knows a device by.
    package enum Name: Sendable, Hashable {
        case uuid(UUID)
        /// As the app registered it. It may name a device on several platforms of the application.
        case token(String)
    }

    /// The reason why topics were not added.
    package enum Refusal: Sendable, Hashable {
        case unknownDevice
        /// The device would have this many, which is over `Registration.topicsMax`.
        case tooManyTopics(Int)
    }

    package init(device: Name, topics: Set<String>) {
        self.device = device
        self.topics = topics
    }
}
