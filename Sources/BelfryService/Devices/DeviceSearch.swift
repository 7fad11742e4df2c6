/// Selects devices: those that meet all of the given conditions.
package struct DeviceSearch: Sendable, Hashable {
    /// All of one application. Finds nothing when empty.
    package let platforms: [Key<Platform>]
    /// A part of the UUID, the token, the custom user id or the alias; case does not matter.
    package let text: String?
    /// A topic that the device is subscribed to. Only active devices are subscribed.
    package let topic: String?
    /// Further conditions. Numbered pages and their totals ignore them.
    package let filter: DeviceFilter

    /// How long an API looks at devices, so that its answer is there within 50 ms.
    static let searchedFor = Duration.milliseconds(35)
    /// The longer search that a person may ask for; shorter than any search may take.
    static let searchedForLonger = Duration.seconds(4)

    package init(
        platforms: [Key<Platform>], text: String? = nil, topic: String? = nil, filter: DeviceFilter = DeviceFilter()
    ) {
        self.platforms = platforms
        self.text = text.flatMap { $0.isEmpty ? nil : $0.caseFolded }
        self.topic = topic
        self.filter = filter
    }
}

/// The number of matching devices, or a lower bound.
package struct DeviceCount: Sendable, Hashable {
    package let devices: Int
    /// Whether counting stopped before the end.
    package var isMore = false
}

/// The matching devices, and the position of the next page.
package struct DevicePage: Sendable, Hashable {
    package let devices: [Device]
    /// nil on later pages where no index has it, and where it was not asked for.
    package let count: DeviceCount?
    /// The device after which the next page begins; nil at the end.
    package let next: Key<Device>?
    /// Whether time ran out before the page was full: devices after `next` were not looked at.
    package let isCut: Bool

    package init(_ devices: [Device], count: DeviceCount?, next: Key<Device>?, isCut: Bool = false) {
        self.devices = devices
        self.count = count
        self.next = next
        self.isCut = isCut
    }
}

/// Conditions on a device's row.
package struct DeviceFilter: Sendable, Hashable {
    package var isActive: Bool?
    /// The whole id. Without `isActive` it finds active devices.
    package var customUserID: String? {
        didSet { customUserID = customUserID?.asName }
    }
    /// The device last registered then or later.
    package var seenFrom: Instant?
    /// The device last registered before that.
    package var seenBefore: Instant?
    /// Its system's version, or the first parts of it: `17` finds 17 and 17.2, and not 170.
    package var osVersion: String?
    /// It was imported, and has not registered since.
    package var isUnseen = false

    package init() {}

    package var isEmpty: Bool { self == DeviceFilter() }

    package func matches(
        isActive: Bool, customUserID: String?, registeredAt: Instant, osVersion: String?, isUnseen: Bool
    ) -> Bool {
        if let wanted = self.isActive ?? (self.customUserID == nil ? nil : true), wanted != isActive { return false }
        if let wanted = self.customUserID, wanted != customUserID { return false }
        if let seenFrom, registeredAt < seenFrom { return false }
        if let seenBefore, registeredAt >= seenBefore { return false }
        if let wanted = self.osVersion, osVersion != wanted, !(osVersion ?? "").hasPrefix(wanted + ".") { return false }
        return isUnseen || !self.isUnseen
    }

    package func matches(_ device: Device) -> Bool {
        matches(
            isActive: device.isActive, customUserID: device.customUserID, registeredAt: device.registeredAt,
            osVersion: device.about.osVersion, isUnseen: device.importMark?.stage == .unseen)
    }
}
