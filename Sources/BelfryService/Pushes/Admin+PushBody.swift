package import FoundationEssentials

extension Admin {
    /// The body of a push request: content, target and times.
    package struct PushBody: Body {
        package static let fields = [
            "message", "template", "target", "send_at", "expires_at", "urgency", "at_most_once", "recurrence", "kind",
            "throttle_per_minute", "reminders", "unless_sent",
        ]
        package static let sends = true
        /// The message as it is written: beside a template only what differs from that.
        private var message: Push.Content?
        private var template: TemplateReference?
        private var target: TargetBody?
        /// When to send it; nil, or a time that has just passed, means at once.
        package private(set) var sendAt: Instant?
        /// When to send it by the clocks of each recipient; `madeAt` is not known yet.
        package private(set) var local: LocalDelivery?
        /// When to send it again and again; nil for once.
        package private(set) var recurrence: Recurrence?
        private var expiresAt: Instant?
        private var urgency: Urgency?
        private var isAtMostOnce: Bool?
        private var pacing = Pacing()
        /// Fields that the body gives as null.
        private var removed: Set<Schedule.Change.Part> = []

        private enum Urgency: String, CaseIterable { case urgent, normal, bulk }

        package init() {}

        package mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "message": message = try Self.content(field, from: &reader)
            case "template":
                template = try reader.string(field).map { (text) throws(InvalidInput) in
                    try TemplateReference(text, field: field)
                }
            case "target": target = try TargetBody(field, from: &reader)
            case "send_at":
                if reader.isAtObject() {
                    local = try LocalDelivery(field, from: &reader, at: .zero)
                } else {
                    sendAt = try reader.instant(field)
                }
            case "expires_at":
                expiresAt = try reader.instant(field)
                if expiresAt == nil { removed.insert(.expiry) }
            case "urgency":
                urgency = try reader.choice(field)
                if urgency == nil { removed.insert(.lane) }
            case "recurrence":
                if try reader.null() {
                    removed.insert(.recurrence)
                } else {
                    recurrence = try Recurrence(field, from: &reader)
                }
            case "kind":
                pacing.kind = try reader.string(field).map { (text) throws(InvalidInput) in
                    try DeliveryRules.kind(text, field: field)
                }
                if pacing.kind == nil { removed.insert(.kind) }
            case "throttle_per_minute":
                pacing.perMinute = try reader.integer(field).map { (number) throws(InvalidInput) in
                    guard Pacing.perMinuteRange ~= number else {
                        throw InvalidInput(
                            field: field, "is \(number), it has to be from 1 to \(Pacing.perMinuteRange.upperBound)")
                    }
                    return Int(number)
                }
                if pacing.perMinute == nil { removed.insert(.throttle) }
            case "reminders":
                if try reader.null() {
                    removed.insert(.reminders)
                } else {
                    pacing.reminders = try Reminders(try reader.value(field), field: field)
                }
            case "unless_sent":
                if try reader.null() {
                    removed.insert(.condition)
                } else {
                    pacing.unlessSent = try UnlessSent(try reader.value(field), field: field)
                }
            default: isAtMostOnce = try reader.bool(field)
            }
        }

        /// Whether it is sent on a condition.
        var isConditional: Bool { pacing.unlessSent != nil }

        /// Remarks on values that were corrected while reading.
        var corrections: IgnoredFields {
            var corrections = IgnoredFields()
            for words in CustomParts.corrections(in: message?.custom ?? [:]) { corrections.remark(words) }
            return corrections
        }

        /// The targeted broadcast channels; nil where devices are targeted.
        package var channels: [String]? { target?.channels }

        /// - Parameter devices: the devices that stand for the channels.
        package func pushRequest(channels devices: [UUID]?) throws(InvalidInput) -> PushRequest {
            guard let content = try self.content() else { throw InvalidInput.missing("message") }
            if target == nil, let encrypted = content.encrypted {
                return pushRequest(content: content, target: try Target(devices: encrypted.messages.keys.sorted()))
            }
            guard let target else { throw InvalidInput.missing("target") }
            return pushRequest(content: content, target: try target.checked(channels: devices))
        }

        /// - Parameter other: the content where the body has none.
        func pushRequest(or other: Push.Content) throws(InvalidInput) -> PushRequest {
            guard let target else { throw InvalidInput.missing("target") }
            return pushRequest(content: try content() ?? other, target: try target.checked(channels: nil))
        }

        /// Throws where broadcast channels would get it by the clocks of each recipient, or be reminded.
        func checkClocks() throws(InvalidInput) {
            guard channels == nil || local == nil && recurrence?.isLocal != true else {
                throw InvalidInput(
                    field: "target.channels",
                    "have no clocks: \(local == nil ? "leave recurrence.local out" : "give send_at as one time")")
            }
            guard channels == nil || pacing.reminders == nil else {
                throw InvalidInput(
                    field: "reminders",
                    "need devices that tell what is opened: only Apple knows the subscribers of a channel")
            }
        }

        /// Throws where a new push has a condition, and no time of its own at which that is looked at.
        func checkCondition(at now: Instant) throws(InvalidInput) {
            guard isConditional, local != nil || recurrence?.isLocal ?? (sendAt ?? now <= now) else { return }
            throw InvalidInput(
                field: "unless_sent",
                "goes with a later send_at or a recurrence, neither by the clocks of each recipient")
        }

        /// The push to another target than that of the body.
        func pushRequest(to target: Target) throws(InvalidInput) -> PushRequest {
            guard let content = try self.content() else { throw InvalidInput.missing("message") }
            return pushRequest(content: content, target: target)
        }

        /// The message; nil where there is neither one nor a template.
        func content() throws(InvalidInput) -> Push.Content? {
            guard let template else {
                try message?.checkMessage()
                return message
            }
            var content = message ?? Push.Content()
            content.template = template
            return content
        }

        func pushRequest(content: Push.Content, target: Target) -> PushRequest {
            var content = content
            content.pacing = pacing
            return PushRequest(
                content: content, target: target, lane: lane, guarantee: guarantee ?? .atLeastOnce,
                expiresAt: expiresAt)
        }

        /// Throws where the push would have expired before it is sent, was to be sent long ago, or has two times.
        ///
        /// - Parameter schedule: has the times that are not given; nil for a new push.
        package func checkTimes(of schedule: Schedule? = nil, at now: Instant) throws(InvalidInput) {
            guard recurrence == nil || local == nil && sendAt == nil else {
                let problem =
                    local == nil
                    ? "and send_at exclude each other: the start is recurrence.start"
                    : "and a local send_at exclude each other: recurrence.local goes by the clocks of each recipient"
                throw InvalidInput(field: "recurrence", problem)
            }
            let advice = schedule.map { "to leave it at \($0.dueAt.text)" } ?? "to send now"
            try PushTimes.check(sendAt: sendAt, advice: advice, now: now)
            guard sendAt != nil || expiresAt != nil else { return }
            let expiry = removed.contains(.expiry) ? nil : expiresAt ?? schedule?.pushRequest.expiresAt
            try PushTimes.check(expiresAt: expiry, sendAt: sendAt ?? schedule?.dueAt, now: now)
        }

        /// The change of a schedule. Fields that the body leaves out stay as they are.
        ///
        /// - Parameters:
        ///   - devices: the devices that stand for the channels.
        ///   - seen: the version that the caller saw; nil changes any.
        func change(channels devices: [UUID]?, seen: Int64? = nil) throws(InvalidInput) -> Schedule.Change {
            guard local == nil else {
                throw InvalidInput(
                    field: "send_at", "cannot become a local time: cancel the schedule, and make another")
            }
            try checkClocks()
            return Schedule.Change(
                content: try content(), pacing: pacing, target: try target?.checked(channels: devices), dueAt: sendAt,
                expiresAt: expiresAt, lane: lane, guarantee: guarantee, recurrence: recurrence, removed: removed,
                seen: seen)
        }

        private var lane: Lane? { urgency.flatMap { urgency in Lane.allCases.first { $0.word == urgency.rawValue } } }

        private var guarantee: Push.Guarantee? { isAtMostOnce.map { $0 ? .atMostOnce : .atLeastOnce } }

        /// Reads the fields of a message; see `checkMessage`.
        static func content(
            _ field: String, from reader: inout JSONReader
        ) throws(InvalidInput) -> Push.Content {
            var content = Push.Content()
            var parts: [JSONObject.Member] = []
            let fields =
                ["body"] + SharedFields.names + [
                    "custom", "apns", "web", "badge", "template", "translations", "language", "values", "encrypted",
                ]
            try reader.object(field, of: fields) { reader, name throws(InvalidInput) in
                if try content.read(name, from: &reader) { return }
                if name == "apns" {
                    let value = try reader.value("message.apns", bytesMax: PushLimits.contentWrittenBytesMax)
                    return content.apple = value.isNull ? nil : try ApplePush(value)
                }
                var unknown = 0
                try reader.object("message.custom") { reader, platform throws(InvalidInput) in
                    let value = try reader.value(
                        "message.custom.\(platform)", bytesMax: PushLimits.contentWrittenBytesMax)
                    if !CustomParts.isKnown(platform) { unknown += 1 }
                    // More than a few are not misspelt.
                    if unknown <= CustomParts.misspeltMax { try CustomParts.checkName(platform) }
                    try CustomParts.check(value, of: platform)
                    try CustomParts.checkSlips(value, of: platform)
                    parts.append((platform, value))
                }
            }
            content.custom = JSONObject(parts)
            return content
        }
    }

    /// The body of an update: a push request without target and time.
    struct UpdateBody: Body {
        static let fields = [
            "message", "template", "expires_at", "urgency", "at_most_once", "kind", "throttle_per_minute", "reminders",
        ]
        static let sends = true
        private(set) var push = PushBody()

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            try push.read(field, from: &reader)
        }
    }

    /// The recipients of a push. Sending to everyone must be explicit, so that a forgotten field does not do it.
    struct TargetBody {
        /// When a schedule takes its segments: as it is made, or as it sends.
        private enum SegmentTime: String, CaseIterable { case now, sending }

        private static let fields =
            [
                "everyone", "devices", "channels", "topics", "custom_user_ids", "platforms", "interactive_only",
                "where", "segments",
            ]
            + AudienceExpression.fields.filter { $0 != "everyone" }
        private var isEveryone = false
        private var devices: [UUID]?
        private(set) var channels: [String]?
        private var topics: [String]?
        private var customUserIDs: [String]?
        private var platforms: [PlatformKind]?
        private var isInteractiveOnly = false
        private var expression: AudienceExpression?
        private var fixesSegments: Bool?
        /// An expression in the place of a target.
        private var members: [JSONObject.Member] = []

        init(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            var target = self
            try reader.object(field, of: Self.fields) { reader, name throws(InvalidInput) in
                try target.read(name, "\(field).\(name)", from: &reader)
            }
            if !target.members.isEmpty {
                guard target.expression == nil else {
                    throw InvalidInput(field: "\(field).where", "has other terms of an expression beside it")
                }
                target.expression = try AudienceExpression(json: .object(JSONObject(target.members)), field: field)
            }
            self = target
        }

        private mutating func read(
            _ name: String, _ field: String, from reader: inout JSONReader
        ) throws(InvalidInput) {
            switch name {
            case "everyone": isEveryone = try reader.bool(field) ?? false
            case "devices": devices = try reader.uuids(field)
            case "channels": channels = try reader.strings(field)
            case "topics": topics = try reader.strings(field)
            case "custom_user_ids": customUserIDs = try reader.strings(field)
            case "platforms": platforms = try Self.kinds(try reader.strings(field), field)
            case "interactive_only": isInteractiveOnly = try reader.bool(field) ?? false
            case "segments": fixesSegments = try reader.choice(field).map { (choice: SegmentTime) in choice == .now }
            case "where":
                let value = try reader.value(field)
                expression = value.isNull ? nil : try AudienceExpression(json: value, field: field)
            default: members.append((name, try reader.value(field)))
            }
        }

        private static func kinds(_ names: [String]?, _ field: String) throws(InvalidInput) -> [PlatformKind]? {
            try names?.enumerated().map { (index, name) throws(InvalidInput) in
                try PlatformKind(name, field: "\(field)[\(index)]")
            }
        }

        func checked(channels known: [UUID]?) throws(InvalidInput) -> Target {
            if let expression {
                let isAlone =
                    !isEveryone && devices == nil && channels == nil && topics == nil && customUserIDs == nil
                    && platforms == nil
                guard isAlone else {
                    throw InvalidInput(field: "target", "has an expression and other names beside it")
                }
                return Target(
                    expression, isInteractiveOnly: isInteractiveOnly, fixesSegments: fixesSegments ?? false)
            }
            guard fixesSegments == nil else {
                throw InvalidInput(field: "target.segments", "goes with an expression alone")
            }
            guard channels == nil || devices == nil else {
                throw InvalidInput(field: "target.channels", "goes with no other names")
            }
            let devices = known ?? devices
            // A list that came out empty does not stand for everyone.
            let isNamed = devices != nil || topics != nil || customUserIDs != nil
            let (topics, customUserIDs) = (topics ?? [], customUserIDs ?? [])
            let isSomebody = devices != nil || !topics.isEmpty || !customUserIDs.isEmpty
            guard isEveryone ? !isNamed : isSomebody else {
                throw InvalidInput(
                    field: "target",
                    isEveryone
                        ? "names devices, topics or users, so everyone cannot be meant"
                        : "has to name devices, channels, topics or custom_user_ids, have where, or say everyone: true")
            }
            guard devices == nil || topics.isEmpty && customUserIDs.isEmpty && platforms == nil else {
                throw InvalidInput(
                    field: channels == nil ? "target.devices" : "target.channels", "goes with no other names")
            }
            return try Target(
                devices: devices, topics: topics, customUserIDs: customUserIDs, platforms: platforms,
                isInteractiveOnly: isInteractiveOnly)
        }
    }
}

extension Push.Content {
    /// Throws where devices would get nothing, and where fields exclude each other or are invalid.
    func checkMessage() throws(InvalidInput) {
        try checkWeb()
        guard apple == nil || custom["ios"].map(\.isNull) ?? true else {
            throw InvalidInput(field: "message.apns", "and message.custom.ios exclude each other")
        }
        guard !isEmpty else {
            throw InvalidInput(
                field: "message", "has neither body nor title nor data nor custom nor apns nor web nor badge")
        }
        try checkShared()
    }

    /// The content in the form that `PushBody` reads, with nothing left out.
    package var json: JSONValue { .object(members) }

    var members: JSONObject {
        var members = shared.json
        members["body"] = body.map(JSONValue.string)
        if !custom.isEmpty { members["custom"] = .object(custom) }
        members["apns"] = apple?.json
        members["web"] = web?.json
        members["badge"] = badge?.json
        if isTemplate { members["template"] = .bool(true) }
        if !translations.isEmpty { members["translations"] = translations.json }
        members["language"] = language.map(JSONValue.string)
        if !values.isEmpty { members["values"] = values.json }
        members["encrypted"] = encrypted?.json
        return members
    }
}

extension ApplePush {
    fileprivate var json: JSONValue {
        var members: JSONObject = [
            "type": .string(type.rawValue), "store": .bool(isStored), "payload": .object(payload),
        ]
        members["priority"] = priority.map { .integer($0.rawValue) }
        members["collapse_id"] = collapseID.map(JSONValue.string)
        return .object(members)
    }
}

extension Target {
    /// The request in the form that `PushBody` reads, with nothing left out.
    package var json: JSONValue {
        var members: JSONObject = [:]
        if let expression {
            members["where"] = expression.json
            if fixesSegments { members["segments"] = .string("now") }
            if isInteractiveOnly { members["interactive_only"] = .bool(true) }
            return .object(members)
        }
        members["devices"] = devices.map { .strings($0.map(\.lowercased)) }
        if !topics.isEmpty { members["topics"] = .strings(topics) }
        if !customUserIDs.isEmpty { members["custom_user_ids"] = .strings(customUserIDs) }
        if members.isEmpty { members["everyone"] = .bool(true) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        if isInteractiveOnly { members["interactive_only"] = .bool(true) }
        return .object(members)
    }
}
