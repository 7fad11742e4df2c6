/// The devices and topics that an import would find in the database, read and not changed.
package struct ImportSurvey: Sendable, Hashable {
    /// For each device of the import, in order.
    package let parties: [Parties]
    /// The topics of the devices that exist already.
    package let topics: Set<String>

    package struct Parties: Sendable, Hashable {
        /// The device that has the row's UUID.
        package let named: Device?
        /// The device that has the row's token.
        package let holder: Device?
        /// Whether this server never issued the row's UUID, so that a device may use it.
        package let isForeign: Bool
        /// The active devices of the row's custom user id on the platform, counted up to their quota; 0 without one.
        package let userDevices: Int

        package init(named: Device?, holder: Device?, isForeign: Bool, userDevices: Int) {
            self.named = named
            self.holder = holder
            self.isForeign = isForeign
            self.userDevices = userDevices
        }
    }

    package init(parties: [Parties], topics: Set<String>) {
        self.parties = parties
        self.topics = topics
    }
}
