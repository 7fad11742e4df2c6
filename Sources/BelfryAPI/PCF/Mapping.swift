import BelfryCore
import FoundationEssentials
import NIOCore

// The words of PCF on one side, ours on the other. Nowhere else do the two meet.

extension Registration {
    /// A body of the wire, checked.
    ///
    /// - Parameter isNew: whether it came by POST, whose tags are the full set and whose `os` counts.
    init(
        _ request: PCFv1.RegistrationRequest, isNew: Bool, customUserID: Change<String>, kind: PlatformKind
    ) throws(InvalidInput) {
        guard let token = request.registrationToken else {
            throw InvalidInput(field: "registration_token", "is missing")
        }
        var about = request.about
        if !isNew { about.os = nil }
        try self.init(
            token: DeviceToken(token, for: kind), about: about, customUserID: customUserID,
            topics: TopicChange(request.tags, isNew: isNew))
    }
}

extension Registration.TopicChange {
    fileprivate init(_ tags: PCFv1.RegistrationRequest.Tags?, isNew: Bool) throws(InvalidInput) {
        switch tags {
        case nil: self = isNew ? .replace([]) : .keep
        case .all(let names): self = .replace(Set(try Topic.normalized(names, field: "tags")))
        case .change where isNew:
            throw InvalidInput(field: "tags", "has to be an array of strings, it is an object")
        case .change(let subscribe, let unsubscribe):
            self = .change(
                subscribe: Set(try Topic.normalized(subscribe, field: "tags.subscribe")),
                unsubscribe: Set(try Topic.normalized(unsubscribe, field: "tags.unsubscribe")))
        }
    }
}

extension Device {
    /// The object that POST, PUT and GET answer with.
    func json(kind: PlatformKind) -> ByteBuffer {
        var json = JSONWriter()
        json.object { json in
            json.uuid("device_uuid", uuid)
            json.string("os", about.os ?? kind.rawValue)
            json.string("os_version", about.osVersion)
            json.string("device_model", about.model)
            json.string("device_manufacturer", about.manufacturer)
            json.string("device_alias", about.alias)
            json.string("registration_token", token?.text(for: kind))
            json.bool("active", isActive)
            json.string("custom_user_id", customUserID)
            json.array("tags", topics) { json, topic in json.object { json in json.string("text", topic) } }
        }
        return json.buffer
    }
}

extension Target {
    /// What a push of the wire names. Lists without an entry count as not given.
    init(_ target: PCFv1.PushRequest.Target) throws(InvalidInput) {
        guard target.devices.isEmpty else {
            // A text that is no UUID is nobody's: it is passed over, and does not open the push to everyone.
            try self.init(
                devices: target.devices.compactMap(UUID.init(uuidString:)), isInteractiveOnly: target.isInteractiveOnly)
            return
        }
        try self.init(
            topics: target.topics, customUserIDs: target.customUserIDs, platforms: try target.kinds(),
            isInteractiveOnly: target.isInteractiveOnly)
    }
}

extension PCFv1.PushRequest.Target {
    /// The kinds of platform that are named; nil for every kind.
    fileprivate func kinds() throws(InvalidInput) -> [PlatformKind]? {
        var kinds: [PlatformKind] = []
        for (index, name) in platforms.enumerated() {
            kinds.append(try PlatformKind(name, field: "target.platforms[\(index)]"))
        }
        if let platform, platform != "all" {
            kinds.append(try PlatformKind(platform, field: "target.platform", alternatives: ["all"]))
        }
        return kinds.isEmpty || platform == "all" ? nil : kinds
    }
}
