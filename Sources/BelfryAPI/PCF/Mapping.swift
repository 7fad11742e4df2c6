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

extension Topic {
    /// Each name in its one spelling.
    static func normalized(_ names: [String], field: String) throws(InvalidInput) -> [String] {
        var normalized: [String] = []
        normalized.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            do {
                normalized.append(try Topic.normalized(name, field: ""))
            } catch {
                throw InvalidInput(field: "\(field)[\(index)]", error.problem)
            }
        }
        return normalized
    }
}

extension Device {
    /// The object that POST, PUT and GET answer with.
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
            json.string("device_alias", about.alias)
            json.string("registration_token", token?.text(for: kind))
            json.bool("active", isActive)
            json.string("custom_user_id", customUserID)
            json.array("tags", topics) { json, topic in json.object { json in json.string("text", topic) } }
        }
    }
}

extension PlatformKind {
    /// - Parameter alternatives: what the field takes besides the kinds of platform.
    fileprivate init(_ name: String, field: String, alternatives: [String]) throws(InvalidInput) {
        guard let kind = PlatformKind(rawValue: name) else {
            let known = (alternatives + PlatformKind.allCases.map(\.rawValue)).joined(separator: ", ")
            throw InvalidInput(field: field, "is '\(name)', it has to be one of \(known)")
        }
        self = kind
    }
}

extension PCFv1.PushRequest.Target {
    /// The platforms of an application whose devices are meant; those of every kind when no kind is named.
    func platforms(of all: [Platform]) throws(InvalidInput) -> [Platform] {
        // Devices override every other target, even one that makes no sense.
        guard devices.isEmpty else { return all }
        var kinds: Set<PlatformKind> = []
        for (index, name) in platforms.enumerated() {
            kinds.insert(try PlatformKind(name, field: "target.platforms[\(index)]", alternatives: []))
        }
        if let platform, platform != "all" {
            kinds.insert(try PlatformKind(platform, field: "target.platform", alternatives: ["all"]))
        }
        if kinds.isEmpty || platform == "all" { return all }
        // Old senders know `android` only, and mean the Android devices of the application whatever carries to them.
        if kinds.contains(.android), !all.contains(where: { $0.kind == .android }) { kinds.insert(.androidFCM) }
        return all.filter { kinds.contains($0.kind) }
    }

    /// The devices meant, on each of the platforms.
    ///
    /// - Parameter keys: finds the devices behind UUIDs that the platforms have. Others are passed over.
    func audience(
        keys: ([UUID]) async throws -> [Key<Device>]
    ) async throws -> Audience {
        let audience = try await everybody(keys: keys)
        return isInteractiveOnly ? .all([audience, .list(.interactive)]) : audience
    }

    private func everybody(keys: ([UUID]) async throws -> [Key<Device>]) async throws -> Audience {
        if !devices.isEmpty {
            let found = try await keys(devices.compactMap(UUID.init(uuidString:)))
            // The intersection leaves to each platform its own.
            return .all([.list(.devices(Set(found).sorted())), .list(.registered)])
        }
        let topics = Set(try Topic.normalized(topics, field: "target.topics")).sorted()
        let users = Set(customUserIDs).sorted()
        if let index = customUserIDs.firstIndex(of: "") {
            throw InvalidInput(field: "target.custom_user_ids[\(index)]", "is empty")
        }
        if topics.isEmpty && users.isEmpty { return .list(.active) }
        return .any(topics.map { .list(.topic($0)) } + users.map { .list(.customUser($0)) })
    }
}
