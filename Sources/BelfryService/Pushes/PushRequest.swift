package import FoundationEssentials

/// A back end's request: content, target and times. It becomes a push at once, or by a schedule.
///
/// Platforms and devices are looked up when it becomes a push, so a scheduled push reaches the devices that exist by
/// then.
package struct PushRequest: Sendable, Hashable {
    package var content: Push.Content
    package var target: Target
    /// nil lets the size of the target decide.
    package var lane: Lane?
    package var guarantee: Push.Guarantee
    /// See `PushHead.expiresAt`.
    package var expiresAt: Instant?
    /// Whether the server passes on a message that it could not read; see `DeliveryRules.takesEncryptedOnly`.
    package var isRelayed = false

    package init(
        content: Push.Content, target: Target, lane: Lane? = nil, guarantee: Push.Guarantee = .atLeastOnce,
        expiresAt: Instant? = nil
    ) {
        self.content = content
        self.target = target
        self.lane = lane
        self.guarantee = guarantee
        self.expiresAt = expiresAt
    }
}

/// Makes a push of a request: finds the platforms, the audience and the devices that are named, and checks the content.
package struct PushBuilder: Sendable {
    private let store: any DeliveryPorts
    private let clock: any WallClock

    package init(store: any DeliveryPorts, clock: any WallClock) { (self.store, self.clock) = (store, clock) }

    /// The push to accept. If it names a few devices, the acceptance looks them up.
    ///
    /// - Parameters:
    ///   - findsAll: whether they are looked up now, which a preview needs.
    ///   - narrowing: a condition on the devices besides the target.
    package func build(
        _ pushRequest: PushRequest, for application: Key<Application>, findsAll: Bool = false,
        narrowedBy narrowing: AudienceExpression? = nil
    ) async throws -> NewPush {
        let receiptID = IdempotentID.make()
        let rules = try await store.application(application)?.deliveryRules ?? DeliveryRules()
        var content = try await resolved(pushRequest.content, of: application).paced(by: rules)
        if let alert = rules.encryptedAlert { content.encrypted?.alert = alert }
        let target =
            narrowing == nil
            ? pushRequest.target
            : Target(pushRequest.target.asExpression, isInteractiveOnly: pushRequest.target.isInteractiveOnly)
        let (platforms, checked) = try await check(
            content, for: target, of: application, receiptID: receiptID, isRelayed: pushRequest.isRelayed)
        let keys = platforms.map(\.key)
        // A throttled push goes out step by step.
        let isStepped = target.isInteractiveOnly || content.pacing.perMinute != nil
        let uuids = findsAll || isStepped ? [] : target.devices ?? []
        let left = uuids.count <= NewPush.namedMax ? uuids : []
        var (found, unknown): (DevicesByPlatform?, [UUID]) = (nil, [])
        if left.isEmpty, let names = target.named { (found, unknown) = try await store.devices(named: names, on: keys) }
        let audience =
            if let expression = target.expression {
                try await meant(
                    by: expression, target, platforms, narrowing, following: content.follows, of: application)
            } else {
                target.audience(named: target.devices == nil ? [] : found?.values.flatMap(\.self) ?? [])
            }
        let lane = pushRequest.lane ?? Lane(for: audience)
        return NewPush(
            receiptID: receiptID, applicationKey: application, content: content, audience: audience,
            platformKeys: keys, platforms: target.platforms, lane: lane,
            guarantee: pushRequest.guarantee, expiresAt: pushRequest.expiresAt,
            devices: isStepped ? nil : found.flatMap { $0.isShort ? $0 : nil },
            unknownDevices: UnknownDevices(unknown), named: left, storedContent: checked.stored,
            tooLarge: checked.tooLarge,
            reminders: try PushRequest.reminding(of: receiptID, content, as: pushRequest, in: lane).map(
                WrittenRequest.init))
    }

    /// Whether the push would go to anybody now. All schedules wait for the answer: where it takes long to tell, it is taken to.
    func reaches(_ push: NewPush) async throws -> Bool {
        let end = clock.now + .seconds(2)
        for platform in push.platformKeys {
            var after: Key<Device>?
            repeat {
                let slice = try await store.slice(of: push.audience, on: platform, after: after, limit: 1)
                if !slice.devices.isEmpty { return true }
                after = slice.end
                if after != nil, clock.now >= end { return true }
            } while after != nil
        }
        return false
    }

    /// The audience of a target now.
    func audience(of target: Target, _ application: Key<Application>) async throws -> AudienceDraft {
        let platforms = target.platforms(of: try await store.platforms(of: application))
        if let expression = target.expression {
            return AudienceDraft(
                platforms: platforms, audience: try await meant(by: expression, target, platforms, of: application))
        }
        var devices: [Key<Device>] = []
        if let uuids = target.devices {
            devices = try await store.devices(named: .devices(uuids), on: platforms.map(\.key))
                .found.values.flatMap(\.self)
        }
        return AudienceDraft(platforms: platforms, audience: target.audience(named: devices))
    }

    /// The content over that of the template which it names.
    func resolved(_ content: Push.Content, of application: Key<Application>) async throws -> Push.Content {
        guard let reference = content.template else { return content }
        guard let template = try await store.templateContent(reference, of: application) else {
            guard reference.campaign == nil else {
                throw InvalidInput(field: "winner", "cannot be found: no variant of the campaign was sent")
            }
            let words = reference.version == nil ? "" : ": of versions the last \(Template.versionsMax) are kept"
            throw InvalidInput(field: "template", "names the template '\(reference.text)', which there is not\(words)")
        }
        return try content.over(template)
    }

    /// The expression with its segments, and the pushes of its campaigns, written out.
    func resolved(
        _ expression: AudienceExpression, of application: Key<Application>
    ) async throws -> AudienceExpression {
        try await expression.resolved { try await store.segmentExpression($0, of: application) }
            .withCampaigns { try await store.campaignReceipts($0, of: application) }
    }

    private func meant(
        by expression: AudienceExpression, _ target: Target, _ platforms: [Platform],
        _ narrowing: AudienceExpression? = nil, following followed: FollowedPush? = nil,
        of application: Key<Application>
    ) async throws -> Audience {
        let own = try await resolved(expression, of: application)
        let resolved = narrowing.map { .all([own, $0]) } ?? own
        var devices: [[UUID]: [Key<Device>]] = [:]
        for case .devices(let uuids) in resolved.terms where devices[uuids] == nil {
            devices[uuids] = try await store.devices(named: .devices(uuids), on: platforms.map(\.key))
                .found.values.flatMap(\.self)
        }
        var pushes: [UUID: Key<Push>] = [:]
        for receipt in Set(resolved.terms.flatMap(\.receipts)) {
            let found = try await store.receipt(receipt)?.push
            pushes[receipt] = found?.applicationKey == application ? found?.key : nil
        }
        let world = AudienceWorld(
            platforms: platforms, devices: devices, pushes: pushes, followed: followed, now: clock.now)
        let audience = Audience.meant(by: expression, resolved.audience(in: world))
        return target.isInteractiveOnly ? .all([audience, .list(.interactive)]) : audience
    }

    /// The platforms that the target selects, each of which supports the content, and the content as it is stored.
    @discardableResult
    func check(
        _ content: Push.Content, for target: Target, of application: Key<Application>, receiptID: UUID = UUID(),
        isRelayed: Bool = false
    ) async throws -> ([Platform], Push.Content.Checked) {
        let content = content.template == nil ? content : try await resolved(content, of: application)
        let rules = try await store.application(application)?.deliveryRules ?? DeliveryRules()
        if !isRelayed { try content.checkEncryption(for: target, by: rules) }
        let meant = target.platforms(of: try await store.platforms(of: application))
        try content.checkEncryption(on: meant, target)
        let platforms = meant.filter { content.isMeant(for: $0.kind) }
        return (platforms, try content.check(for: Set(platforms.map(\.kind)), receiptID: receiptID))
    }
}

/// A push before it is accepted. It is validated completely, so that nothing downstream validates again.
///
/// A class for the same reason as `BatchLoad`.
package final class NewPush: Sendable {
    package let receiptID: UUID
    package let applicationKey: Key<Application>
    package let content: Push.Content
    package let audience: Audience
    /// The platforms whose devices the audience is looked up on, ascending.
    package let platformKeys: [Key<Platform>]
    /// The types of platform that its target named; nil for every type.
    package let platforms: [PlatformKind]?
    package let lane: Lane
    package let guarantee: Push.Guarantee
    package let expiresAt: Instant?
    /// The devices of the audience, where few were named and they were looked up already; nil if they are still to be found.
    package let devices: DevicesByPlatform?
    /// The devices of its target that no platform has.
    package let unknownDevices: UnknownDevices
    /// The devices of the audience that the acceptance has yet to look up. Empty for any other push.
    package let named: [UUID]
    /// The keys of the named devices, as far as their UUIDs tell. Empty before `Store.locating`.
    let namedKeys: [Key<Device>?]
    /// The types of platform that refuse it for its size.
    package let tooLarge: [InvalidInput]
    /// The request of its reminders; nil for none.
    package let reminders: WrittenRequest?
    /// The content as it is stored.
    let storedContent: String
    /// The audience as it is stored. Empty until the named devices were looked up.
    let storedAudience: String

    /// The most devices that are looked up with the acceptance, since other pushes wait meanwhile. Fewer than make a push less urgent.
    package static let namedMax = 16

    package init(
        receiptID: UUID, applicationKey: Key<Application>, content: Push.Content, audience: Audience,
        platformKeys: [Key<Platform>], platforms: [PlatformKind]? = nil, lane: Lane,
        guarantee: Push.Guarantee = .atLeastOnce, expiresAt: Instant? = nil, devices: DevicesByPlatform? = nil,
        unknownDevices: UnknownDevices = UnknownDevices(), named: [UUID] = [], namedKeys: [Key<Device>?] = [],
        storedContent: String? = nil, tooLarge: [InvalidInput] = [], reminders: WrittenRequest? = nil
    ) {
        self.receiptID = receiptID
        self.applicationKey = applicationKey
        self.content = content
        self.audience = audience
        self.platformKeys = Set(platformKeys).sorted()
        self.platforms = platforms
        self.lane = lane
        self.guarantee = guarantee
        self.expiresAt = expiresAt
        self.devices = devices
        self.unknownDevices = unknownDevices
        self.named = named
        self.namedKeys = namedKeys
        self.tooLarge = tooLarge
        self.reminders = reminders
        self.storedContent = storedContent ?? content.storedText
        storedAudience = named.isEmpty ? audience.storedText : ""
    }

    /// How long it is as it is stored.
    var bytes: Int { storedContent.utf8.count + storedAudience.utf8.count }
    /// With its reminders.
    var bytesOfAll: Int { bytes + (reminders?.bytes ?? 0) }

    /// The push after its named devices were looked up.
    ///
    /// - Parameter found: the platform and the key of each of the named devices, nil where no platform has it.
    package func finding(_ found: [(platform: Key<Platform>, device: Key<Device>)?]) -> NewPush {
        var devices: DevicesByPlatform = [:]
        var unknown: [UUID] = []
        for (uuid, place) in zip(named, found) {
            if let place {
                if devices[place.platform]?.contains(place.device) != true {
                    devices[place.platform, default: []].append(place.device)
                }
            } else if !unknown.contains(uuid) {
                unknown.append(uuid)
            }
        }
        return with(
            .devices(devices.values.joined()), devices.mapValues { $0.sorted() }, UnknownDevices(unknown), [], [])
    }

    /// The push with the keys of its named devices.
    func locating(_ keys: [Key<Device>?]) -> NewPush { with(audience, devices, unknownDevices, named, keys) }

    /// The push without platforms that there are no more, where others remain: another node may have deleted them just now.
    func on(_ held: Set<Key<Platform>>) -> NewPush {
        let left = platformKeys.filter(held.contains)
        guard !left.isEmpty, left.count < platformKeys.count else { return self }
        return with(
            audience, devices?.filter { held.contains($0.key) }, unknownDevices, named, namedKeys, on: left)
    }

    private func with(
        _ audience: Audience, _ devices: DevicesByPlatform?, _ unknownDevices: UnknownDevices, _ named: [UUID],
        _ namedKeys: [Key<Device>?], on platformKeys: [Key<Platform>]? = nil
    ) -> NewPush {
        NewPush(
            receiptID: receiptID, applicationKey: applicationKey, content: content, audience: audience,
            platformKeys: platformKeys ?? self.platformKeys, platforms: platforms, lane: lane, guarantee: guarantee,
            expiresAt: expiresAt, devices: devices, unknownDevices: unknownDevices, named: named, namedKeys: namedKeys,
            storedContent: storedContent, tooLarge: tooLarge, reminders: reminders)
    }

    package func accepted(as key: Key<Push>, at now: Instant) -> Push {
        Push(
            key: key, receiptID: receiptID, applicationKey: applicationKey, content: content, audience: audience,
            platforms: platforms, lane: lane, guarantee: guarantee, acceptedAt: now, expiresAt: expiresAt)
    }
}

/// Devices by their platform, ascending on each.
package typealias DevicesByPlatform = [Key<Platform>: [Key<Device>]]

extension DevicesByPlatform {
    /// Whether the devices of each platform fit into one batch.
    package var isShort: Bool { values.allSatisfy { $0.count <= Batch.devicesMax } }
}
