import FoundationEssentials
import NIOCore

// Translates between the terms of PCF and our own. Only this file does.

extension Registration {
    /// A body of the wire, validated.
    ///
    /// - Parameter isNew: whether it came by POST, which replaces all tags and the alias, and whose `os` counts.
    init(
        _ request: PCF.RegistrationRequest, isNew: Bool, token: DeviceToken, customUserID: Change<String>,
        detail: DeviceDetail.Change
    ) throws(InvalidInput) {
        var about = request.about
        // An alias may be the user's name, which the iOS SDK leaves out after a logout.
        if isNew { about.alias = about.alias ?? "" } else { about.os = nil }
        try self.init(
            token: token, about: about, customUserID: customUserID, topics: TopicChange(request.tags, isNew: isNew),
            detail: detail, profile: try request.profile())
    }
}

extension Registration.TopicChange {
    fileprivate init(_ tags: PCF.RegistrationRequest.Tags?, isNew: Bool) throws(InvalidInput) {
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
    /// The response body of POST, PUT and GET.
    func json(kind: PlatformKind) -> ByteBuffer {
        var json = JSONWriter()
        write(to: &json, kind: kind)
        return json.buffer
    }

    func write(to json: inout JSONWriter, kind: PlatformKind) {
        json.object { json in
            json.uuid("device_uuid", uuid)
            json.string("os", about.os ?? kind.rawValue)
            json.string("os_version", about.osVersion)
            json.string("device_model", about.model)
            json.string("device_manufacturer", about.manufacturer)
            json.string("device_alias", shownAlias)
            json.string("registration_token", token?.text(for: kind))
            json.bool("active", isActive)
            json.string("custom_user_id", customUserID)
            json.array("tags", topics) { json, topic in json.object { json in json.string("text", topic) } }
        }
    }
}

extension Schedule {
    /// The response body of lists and changes of schedules. Times are absolute, however they were given.
    func json() -> ByteBuffer {
        var json = JSONWriter()
        json.object { json in
            json.string("schedule_id", key.id)
            json.integer("scheduled_for", dueAt.milliseconds)
            json.object("push") { json in
                json.integer("scheduleAt", dueAt.milliseconds)
                json.integer("scheduleIn", 0)
                json.integer("expiryTime", pushRequest.expiresAt?.milliseconds)
                json.object("message") { json in
                    json.string("body", pushRequest.content.body)
                    json.value("custom", .object(pushRequest.content.custom))
                    json.members(pushRequest.content.members.filter { !["body", "custom", "apns"].contains($0.key) })
                }
                json.object("target") { json in json.members(of: pushRequest.target) }
            }
        }
        return json.buffer
    }
}

extension JSONWriter {
    fileprivate mutating func members(of target: Target) {
        strings("topics", target.topics)
        strings("platforms", (target.platforms ?? []).map(\.rawValue))
        strings("devices", (target.devices ?? []).map(\.lowercased))
        if !target.customUserIDs.isEmpty { strings("custom_user_ids", target.customUserIDs) }
        bool("interactive-only", target.isInteractiveOnly)
        string("platform", target.isEveryone ? "all" : "")
    }
}

extension Target {
    /// Whether it selects every device, so that only `all` does.
    fileprivate var isEveryone: Bool {
        expression == nil && devices == nil && topics.isEmpty && customUserIDs.isEmpty && platforms == nil
    }

    /// The target of a push. Lists without an entry count as not given.
    init(_ target: PCF.TargetNames) throws(InvalidInput) {
        let isByDevice = target.devices != nil
        try self.init(
            devices: target.devices, topics: target.topics,
            customUserIDs: target.customUserIDs, platforms: isByDevice ? nil : try target.kinds(),
            isInteractiveOnly: !isByDevice && target.isInteractiveOnly)
    }
}

extension PCF.TargetNames {
    /// The named types of platform; nil for every type.
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
