/// When and how often a push goes to its devices: its throttle, its reminders, and the rules of its application unless its kind is exempt.
package struct Pacing: Sendable, Hashable {
    /// The sender's word for what the push is about, such as `marketing`; nil where it gives none.
    package var kind: String?
    /// The most devices that are told in a minute, retries aside; nil without a limit.
    package var perMinute: Int?
    /// How often it is sent again until it is opened; nil for once.
    package var reminders: Reminders?
    /// The condition of a schedule; nil for none.
    package var unlessSent: UnlessSent?
    /// The application's rules when the push was accepted. Empty before, and where the kind is exempt.
    package var rules = DeliveryRules()
    /// Whether Android may hold it back while it dozes although it shows something: the sender of a gateway says so.
    package var isDeferrable = false
    /// Whether it is shown without a sound: it came in quiet hours. Never stored.
    package var isPassive = false

    package init(kind: String? = nil, perMinute: Int? = nil) { (self.kind, self.perMinute) = (kind, perMinute) }

    package static let perMinuteRange: ClosedRange<Int64> = 1...10_000_000

    package var isEmpty: Bool {
        kind == nil && perMinute == nil && reminders == nil && unlessSent == nil && rules.isEmpty
    }

    func changed(by change: Schedule.Change) -> Pacing {
        let (new, removed) = (change.pacing ?? change.content?.pacing, change.removed)
        var changed = self
        changed.kind = removed.contains(.kind) ? nil : new?.kind ?? kind
        changed.perMinute = removed.contains(.throttle) ? nil : new?.perMinute ?? perMinute
        changed.reminders = removed.contains(.reminders) ? nil : new?.reminders ?? reminders
        changed.unlessSent = removed.contains(.condition) ? nil : new?.unlessSent ?? unlessSent
        return changed
    }

    /// Its fields in a request.
    var fields: JSONObject { members(beside: [:], throttle: "throttle_per_minute") }

    private func members(beside others: JSONObject, throttle: String) -> JSONObject {
        var members = others
        members["kind"] = kind.map(JSONValue.string)
        members[throttle] = perMinute.map { .integer(Int64($0)) }
        members["reminders"] = reminders?.json
        members["unless_sent"] = unlessSent?.json
        return members
    }

    /// That of calls, tests and what only the app sees.
    static let exempt = Pacing(kind: DeliveryRules.exemptKind)

    var caps: [FrequencyCap] { rules.caps.filter { $0.kind == nil || $0.kind == kind } }
}

extension Push.Content {
    /// With the rules that apply to it: none where its kind is exempt, or Apple's devices ring or show nothing for it by themselves.
    consuming func paced(by rules: DeliveryRules) -> Push.Content {
        let isExempt = pacing.kind == DeliveryRules.exemptKind || apple.map { $0.type != .alert } ?? false
        var rules = isExempt ? DeliveryRules() : rules
        rules.webPush = .off
        if pacing.rules != rules { pacing.rules = rules }
        return self
    }
}

extension Push {
    /// Its throttle, until its time is over: the rest of its devices is then answered at once.
    func perMinute(at now: Instant) -> Int? {
        now < expiresAt ?? acceptedAt + RetryPolicy.throttledWindow ? content.pacing.perMinute : nil
    }
}

// MARK: Stored form

extension Pacing {
    init(stored members: JSONObject) throws(InvalidInput) {
        self.init(kind: members["kind"]?.stringValue, perMinute: members["per_minute"]?.wholeNumber.map { Int($0) })
        rules = try DeliveryRules(.object(members))
        isDeferrable = members["deferrable"] == .bool(true)
        reminders = try members["reminders"].map { (value) throws(InvalidInput) in
            try Reminders(value, field: "reminders")
        }
        unlessSent = try members["unless_sent"].map { (value) throws(InvalidInput) in
            try UnlessSent(value, field: "unless_sent")
        }
    }

    var json: JSONObject {
        var members = members(beside: rules.json, throttle: "per_minute")
        if isDeferrable { members["deferrable"] = .bool(true) }
        return members
    }
}

// MARK: Throttle

extension FanOut {
    /// The most devices of one step: a platform's share of those of ten seconds where the push is throttled. A push that was cancelled
    /// waits for nothing.
    func devicesPerStep(atMost limit: Int) -> Int {
        isCancelled ? limit : perMinute.map { min(limit, max(1, $0 / 6 / platforms)) } ?? limit
    }

    /// The wait behind a step that wrote so many devices; nil without a throttle.
    package func pause(behind devices: Int) -> Duration? {
        guard !isCancelled else { return nil }
        return perMinute.map { .milliseconds((60_000 * devices * platforms + $0 - 1) / $0) }
    }
}

extension Pacing {
    /// The wait before the first step of a platform, by its place: one after the other where a device of each is too many for ten seconds.
    package func start(of place: Int, among platforms: Int) -> Duration {
        guard let perMinute, platforms > perMinute / 6 else { return .zero }
        return .milliseconds(60_000 * place / perMinute)
    }
}

// MARK: Verdicts

/// Devices of a batch that a push with rules is about to be sent to.
package struct PacingRequest: Sendable {
    package let batch: Batch
    package let push: Key<Push>
    package let applicationKey: Key<Application>
    package let pacing: Pacing
    package let devices: [Key<Device>]

    package init(_ batch: Batch, _ load: BatchLoad) {
        self.batch = batch
        (push, applicationKey, pacing) = (load.push.key, load.push.applicationKey, load.push.content.pacing)
        devices = load.recipients.map(\.device)
    }
}

/// The word of an application's rules on a device and a push; without one it is told now.
package enum PacingVerdict: Sendable, Hashable {
    case wait(until: Instant)
    case skip(Skip)
    case passive

    /// nil where it is told all the same.
    var outcome: Outcome? {
        switch self {
        case .wait(let end): .waiting(until: end)
        case .skip(let skip): .skipped(skip)
        case .passive: nil
        }
    }
}

/// A device as far as rules look at it.
package struct PacedDevice: Sendable {
    package let key: Key<Device>
    package let userID: String?
    /// Names as they were told, by the device and for its user: the first that is known counts.
    package let timeZones: [String]
    /// The attribute `QuietHours.attribute` of its user.
    package let quietHours: String?

    package init(key: Key<Device>, userID: String?, timeZones: [String], quietHours: String?) {
        (self.key, self.userID, self.timeZones, self.quietHours) = (key, userID, timeZones, quietHours)
    }

    /// Whom caps count: a number for the user, else for the device.
    package var holder: Int64 {
        guard let userID else { return -key.rawValue }
        return Int64(SipHash(key0: 0, key1: 0).hash(Array(userID.utf8)) >> 1)
    }
}

extension PacingRequest {
    package func quiet(_ devices: [PacedDevice], at now: Instant) -> [Key<Device>: PacingVerdict] {
        guard let quiet = pacing.rules.quietHours else { return [:] }
        var verdicts: [Key<Device>: PacingVerdict] = [:]
        for device in devices {
            let zone = device.timeZones.lazy.compactMap { ZoneInfo.named(folded: $0.caseFolded) }.first
            guard let end = quiet.end(at: now, own: device.quietHours, in: zone) else { continue }
            verdicts[device.key] =
                switch quiet.then {
                case .wait: .wait(until: end)
                case .skip: .skip(.quietHours)
                case .passive: .passive
                }
        }
        return verdicts
    }

    /// The verdicts of quiet hours, and of caps on devices that these let be told. Whoever is admitted is noted in `uses`.
    package func verdicts(
        on devices: [PacedDevice], _ quiet: [Key<Device>: PacingVerdict], counting uses: inout CapUses, at now: Instant
    ) -> [Key<Device>: PacingVerdict] {
        guard !pacing.caps.isEmpty else { return quiet }
        var verdicts = quiet
        for device in devices where quiet[device.key].map({ $0 == .passive }) ?? true {
            if !uses.admit(self, to: device.holder, at: now) { verdicts[device.key] = .skip(.capped) }
        }
        return verdicts
    }
}

/// The pushes that whom caps count got within the longest period.
package struct CapUses: Sendable {
    package struct Use: Sendable, Hashable {
        package let push: Key<Push>
        package let kind: String?
        package let at: Instant
    }

    private var uses: [Int64: [Use]] = [:]
    /// The uses that were added, in order.
    package private(set) var added: [(holder: Int64, use: Use)] = []

    package init() {}

    package func count(of holder: Int64) -> Int { uses[holder]?.count ?? 0 }

    package mutating func note(_ use: Use, of holder: Int64) { uses[holder, default: []].append(use) }

    /// Whether the holder may get the push, which then counts. A push that counts already may be sent again.
    package mutating func admit(_ push: PacingRequest, to holder: Int64, at now: Instant) -> Bool {
        let own = uses[holder] ?? []
        if own.contains(where: { $0.push == push.push }) { return true }
        for cap in push.pacing.caps {
            let start = now + (.zero - cap.period.duration)
            let count = own.count { $0.at > start && (cap.kind == nil || $0.kind == cap.kind) }
            guard count < cap.limit else { return false }
        }
        let use = Use(push: push.push, kind: push.pacing.kind, at: now)
        note(use, of: holder)
        added.append((holder, use))
        return true
    }
}
