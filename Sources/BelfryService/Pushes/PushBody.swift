import FoundationEssentials

extension PCF {
    /// The body of `POST /v1/push`, or of `PUT /v1/schedules/:schedule_id`, where missing fields keep their values.
    package struct PushBody {
        package private(set) var content: Push.Content?
        package private(set) var target: Target?
        private var names: TargetNames?
        /// Milliseconds since 1970; 0 counts as not given, in all three times.
        private var scheduleAt: Int64?
        /// Seconds from now.
        private var scheduleIn: Int64?
        private var expiryTime: Int64?
        /// Fields that nothing read, although they look like fields that something reads.
        private(set) var ignored = IgnoredFields()
        private let unknown: UnknownFields
        private var given = GivenFields()

        private init(_ unknown: UnknownFields) { self.unknown = unknown }

        /// Reads a body; `null` counts as missing. Throws on invalid values, and on unknown keys unless they are ignored.
        ///
        /// - Parameters:
        ///   - unknown: what becomes of fields beside the message that nothing reads. Those of the message are ignored.
        ///   - isChange: whether message and target may be missing.
        package static func parse(
            _ bytes: [UInt8], _ unknown: UnknownFields = .refused, isChange: Bool = false
        ) throws(InvalidInput) -> Self {
            var body = Self(unknown)
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in try body.read(key, from: &reader) }
            if !isChange || body.content != nil { try body.checkContent() }
            if !isChange || body.names != nil { try body.resolveNames(isChange) }
            try body.checkTimes()
            return body
        }

        /// The push request, without its time to be sent.
        package func pushRequest() throws(InvalidInput) -> PushRequest {
            guard let content else { throw messageIsMissing }
            guard let target else { throw targetIsMissing }
            return PushRequest(content: content, target: target, expiresAt: expiresAt)
        }

        /// The change of a schedule. An expression stays where the body names nobody, and so does a message that is written back as it was
        /// shown, with what this API cannot show of it.
        func change(of old: PushRequest?, at now: Instant) throws(InvalidInput) -> Schedule.Change {
            guard names == nil || target != nil || old?.target.expression != nil else { throw targetIsMissing }
            let isShown = content?.members == old?.content.members.filter { $0.key != "apns" }
            return Schedule.Change(
                content: isShown ? nil : content, target: target, dueAt: try due(at: now), expiresAt: expiresAt)
        }

        /// When to send it; nil when no time is given. Throws beyond the year 9999, and where the push would expire while it waits.
        ///
        /// What is over is taken: PCF sent such pushes at once, and its examples have such times. Source: PCF Push API, "Push".
        func due(at now: Instant) throws(InvalidInput) -> Instant? {
            var dueAt = scheduleAt.map(Instant.init(milliseconds:))
            if let scheduleIn {
                let (milliseconds, overflow) = scheduleIn.multipliedReportingOverflow(by: 1_000)
                dueAt = overflow ? .distantFuture : now + .milliseconds(milliseconds)
                guard dueAt?.isWithinReach == true else {
                    throw InvalidInput(field: "scheduleIn", "is \(scheduleIn) s, which ends beyond the year 9999")
                }
            }
            if let dueAt, dueAt > now {
                try PushTimes.check(expiresAt: expiresAt, sendAt: dueAt, field: "expiryTime", now: now)
            }
            return dueAt
        }

        private var expiresAt: Instant? { expiryTime.map(Instant.init(milliseconds:)) }

        // MARK: Checking

        /// The error for a missing message, with the fields that the caller may have meant.
        private var messageIsMissing: InvalidInput {
            InvalidInput(
                field: "message", "needs a body or a custom part, a title or data, it has none\(ignored.hint)"
            ).withNothingSent
        }
        /// The error for a missing target, with the fields that the caller may have meant.
        private var targetIsMissing: InvalidInput {
            InvalidInput(
                field: "target",
                "needs at least one of devices, topics, custom_user_ids, platforms or platform\(ignored.hint)")
        }

        private func checkContent() throws(InvalidInput) {
            guard let content, !content.isEmpty else { throw messageIsMissing }
            try content.checkWeb()
            do throws(InvalidInput) { try content.checkShared(own: unknown == .refused) } catch {
                throw error.withNothingSent
            }
        }

        private mutating func resolveNames(_ isChange: Bool) throws(InvalidInput) {
            guard let names, isChange || names.isGiven else { throw targetIsMissing }
            try names.demandNobodyElse()
            if names.isGiven { target = try Target(names) }
        }

        private func checkTimes() throws(InvalidInput) {
            guard scheduleAt == nil || scheduleIn == nil else {
                throw InvalidInput(field: "scheduleAt", "and scheduleIn are both given, a push takes one of them")
            }
            for case (let time?, let field) in [
                (scheduleAt, "scheduleAt"), (scheduleIn, "scheduleIn"), (expiryTime, "expiryTime"),
            ] where time < 0 {
                throw InvalidInput(field: field, "is \(time), it has to be 0 or more")
            }
        }

        // MARK: Reading

        private mutating func read(_ key: String, from reader: inout JSONReader) throws(InvalidInput) {
            try unknown.refuseTwice(key, among: Self.fields, &given)
            switch key {
            case "message": try readMessage(from: &reader)
            case "target":
                names = try reader.null() ? nil : TargetNames(from: &reader, unknown, ignored: ignored)
                ignored = names?.ignored ?? ignored
            case "scheduleAt": scheduleAt = try reader.milliseconds("scheduleAt").nonZero
            case "scheduleIn": scheduleIn = try reader.integer("scheduleIn").nonZero
            case "expiryTime": expiryTime = try reader.milliseconds("expiryTime").nonZero
            default:
                try unknown.take(key, of: "a push", known: Self.fields, from: &reader, &ignored, sends: true)
            }
        }

        private static let fields = ["message", "target", "scheduleAt", "scheduleIn", "expiryTime"]

        private static let messageFields =
            ["body", "custom", "web", "badge", "template", "translations", "language", "values", "encrypted"]
            + SharedFields.names

        private mutating func readMessage(from reader: inout JSONReader) throws(InvalidInput) {
            content = nil
            if try reader.null() { return }
            var (read, ignored) = (Push.Content(), ignored)
            try reader.object("message") { reader, key throws(InvalidInput) in
                if try read.read(key, from: &reader) { return }
                guard key == "custom" else {
                    ignored.note(key, under: "message.", known: Self.messageFields, always: true)
                    return try reader.skip()
                }
                read.custom = try Self.custom(from: &reader, unknown, &ignored)
            }
            (content, self.ignored) = (read, ignored)
        }

        private static func custom(
            from reader: inout JSONReader, _ unknown: UnknownFields, _ ignored: inout IgnoredFields
        ) throws(InvalidInput) -> JSONObject {
            if try reader.null() { return [:] }
            var custom: [JSONObject.Member] = []
            try reader.object("message.custom") { reader, key throws(InvalidInput) in
                let value = try reader.value(
                    "message.custom.\(key)", bytesMax: PushLimits.contentWrittenBytesMax)
                try check(value, of: key)
                if unknown == .refused {
                    do throws(InvalidInput) {
                        try CustomParts.check(value, of: key)
                        try CustomParts.checkSlips(value, of: key)
                    } catch {
                        throw error.withNothingSent
                    }
                }
                if !CustomParts.isKnown(key) {
                    ignored.note(key, under: "message.custom.", known: CustomParts.names, always: true)
                }
                custom.append((key, value))
            }
            let parts = JSONObject(custom).filter { !$0.value.isNull }
            for words in CustomParts.corrections(in: parts) { ignored.remark(words) }
            return parts
        }

        /// The keys of known platforms contain an object each; that of BB10 is a text.
        private static func check(_ value: JSONValue, of key: String) throws(InvalidInput) {
            switch (key, value) {
            case (_, .null), ("bb10", .string): return
            case ("bb10", _):
                throw InvalidInput(field: "message.custom.bb10", "has to be a string, it is \(value.typeName)")
            case (_, .object): return
            case ("ios", _), ("windows8", _), ("windowsPhone", _), ("android", _), ("android-fcm", _),
                ("androidFcm", _), ("android-baidu", _):
                throw InvalidInput(field: "message.custom.\(key)", "has to be an object, it is \(value.typeName)")
            default: return
            }
        }
    }

    /// The recipients of a push, as the wire names them. Empty arrays count as not given.
    struct TargetNames {
        /// nil where none is named. A text that is no UUID matches no device, and does not extend the push to everyone: it is left out, and
        /// the caller is told.
        private(set) var devices: [UUID]?
        /// Includes `tags`, their older name.
        private(set) var topics: [String] = []
        private(set) var customUserIDs: [String] = []
        private(set) var platforms: [String] = []
        /// Deprecated, and added to `platforms`: one more, or `all`. `""` counts as not given.
        private(set) var platform: String?
        private(set) var isInteractiveOnly = false
        private(set) var ignored = IgnoredFields()
        private var given = GivenFields()
        /// A field that was ignored and would have narrowed the audience, and the one that is probably meant.
        private var misspelt: (written: String, meant: String)?

        init() {}

        /// - Parameters:
        ///   - unknown: what becomes of fields that nothing reads.
        ///   - ignored: what was ignored before it.
        init(
            from reader: inout JSONReader, _ unknown: UnknownFields, ignored: IgnoredFields = IgnoredFields()
        ) throws(InvalidInput) {
            var names = Self()
            names.ignored = ignored
            try reader.object("target") { reader, key throws(InvalidInput) in
                try names.read(key, unknown, from: &reader)
            }
            self = names
        }

        /// Throws where a misspelt field would send a push for some devices to everyone.
        func demandNobodyElse() throws(InvalidInput) {
            guard let misspelt, devices == nil, topics.isEmpty, customUserIDs.isEmpty else { return }
            throw InvalidInput(
                field: "target.\(misspelt.written)",
                "is not a field, and without it the push would go to everyone: is \(misspelt.meant) meant?")
        }

        var isGiven: Bool {
            devices != nil || !topics.isEmpty || !customUserIDs.isEmpty || !platforms.isEmpty || platform != nil
        }

        private mutating func read(
            _ key: String, _ unknown: UnknownFields, from reader: inout JSONReader
        ) throws(InvalidInput) {
            try unknown.refuseTwice(key, among: Self.fields, under: "target.", &given)
            switch key {
            case "devices": try readDevices(try reader.strings("target.devices") ?? [])
            case "topics": topics += try reader.strings("target.topics") ?? []
            case "tags": topics += try reader.strings("target.tags") ?? []
            case "custom_user_ids": customUserIDs = try reader.strings("target.custom_user_ids") ?? []
            case "platforms": platforms = try reader.strings("target.platforms") ?? []
            case "platform": platform = try reader.string("target.platform").flatMap { $0.isEmpty ? nil : $0 }
            case "interactive-only": isInteractiveOnly = try reader.bool("target.interactive-only") ?? false
            default:
                let meant = try unknown.take(
                    key, under: "target.", of: "a target", known: Self.fields, from: &reader, &ignored,
                    sends: true)
                if let meant, Self.narrowing.contains(meant) { misspelt = (key, meant) }
            }
        }

        private mutating func readDevices(_ texts: [String]) throws(InvalidInput) {
            try Target.checkCount(ofDevices: texts.count)
            guard !texts.isEmpty else { return devices = nil }
            let uuids = texts.compactMap(UUID.init(looseText:))
            devices = uuids
            let others = texts.count - uuids.count
            if others > 0 {
                ignored.remark("target.devices has \(others) of \(texts.count) that are no UUIDs: they match no device")
            }
        }

        private static let narrowing = ["devices", "topics", "tags", "custom_user_ids"]
        private static let fields = narrowing + ["platforms", "platform", "interactive-only"]
    }
}

extension Push.Content {
    /// Reads a field that the messages of all APIs have; false for any other.
    mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) -> Bool {
        switch field {
        // Senders that fill in every field send an empty body with a custom part; that is not a text to show.
        case "body": body = try reader.string("message.body").flatMap { $0.isEmpty ? nil : $0 }
        case "web":
            let value = try reader.value("message.web", bytesMax: PushLimits.contentWrittenBytesMax)
            web = value.isNull ? nil : try WebMessage(value, needsTitle: false)
        case "badge": badge = try BadgeChange(try reader.value("message.badge"), field: "message.badge")
        case "template": isTemplate = try reader.bool("message.template") ?? false
        case "translations":
            translations = try Translations(
                try reader.value("message.translations", bytesMax: PushLimits.contentWrittenBytesMax),
                field: "message.translations")
        case "language":
            language = try reader.string("message.language").flatMap { $0.isEmpty ? nil : $0 }
            try UserProfile.check(tag: language, field: "message.language")
        case "encrypted":
            encrypted = try reader.members("message.encrypted").map { (members) throws(InvalidInput) in
                try EncryptedContent(members)
            }
        case "values": values = try Self.values(try reader.members("message.values") ?? [:])
        default: return try shared.read(field, from: &reader)
        }
        return true
    }

    /// The most values of a message. A text may be as long as the message.
    static let valuesMax = 64

    private static func values(_ members: JSONObject) throws(InvalidInput) -> [String: UserAttribute] {
        guard members.count <= valuesMax else {
            throw InvalidInput(field: "message.values", "has \(members.count) values, the limit is \(valuesMax)")
        }
        for name in members.keys where !(1...UserProfile.nameBytesMax ~= name.utf8.count) {
            throw InvalidInput(
                field: "message.values",
                "has a name of \(name.utf8.count) bytes, it has to be 1 to \(UserProfile.nameBytesMax)")
        }
        return try .init(json: members, field: "message.values")
    }

    func checkWeb() throws(InvalidInput) {
        guard web == nil || custom["web"].map(\.isNull) ?? true else {
            throw InvalidInput(field: "message.web", "and message.custom.web exclude each other")
        }
    }
}

extension Int64? {
    fileprivate var nonZero: Int64? { self == 0 ? nil : self }
}

/// Finds probable slips of the pen in parts of `message.custom` that are otherwise data for the app.
extension CustomParts {
    /// The fields that a server or a service worker reads by name. Other names that are data as likely, such as `title`, are not judged.
    private static func ownFields(of part: String) -> [String] {
        switch part {
        case "web": ["message", "navigate", "requireInteraction", "app_badge", "actions"]
        case _ where AndroidPart.names.contains(part):
            ["message", "collapse_key", "priority", "channel", "category"]
        default: []
        }
    }

    /// The most members that are examined: people write fewer by hand.
    private static let membersMax = 64

    /// Throws where a name differs from that of a field by one slip.
    static func checkSlips(_ value: JSONValue, of part: String) throws(InvalidInput) {
        let known = ownFields(of: part)
        guard !known.isEmpty, case .object(let members) = value else { return }
        for (key, value) in members.prefix(membersMax) where !value.isNull && !known.contains(key) {
            guard let meant = known.nearest(to: key), key.isSlip(of: meant) else { continue }
            throw InvalidInput(
                field: "message.custom.\(part).\(key)",
                "is no field of this part (is \(meant) meant?); as data for the app it goes into message.data")
        }
    }

    /// Remarks on values that were corrected while reading, in plain ASCII.
    static func corrections(in custom: JSONObject) -> [String] {
        custom["ios"]?["mutable-content"] == .bool(true)
            ? ["message.custom.ios.mutable-content is 1 in Apple's words, true was taken as 1"] : []
    }
}

extension String {
    /// Whether it is another name in other case or with other separators, where that has several words; or has two of its letters
    /// changed, or one missing or too many. A plural is another word.
    fileprivate func isSlip(of name: String) -> Bool {
        let (own, plain) = (NearestName.plain(self), NearestName.plain(name))
        let hasWords = plain != name
        if own == plain { return hasWords }
        guard own != plain + "s" else { return false }
        if own.utf8.sorted() == plain.utf8.sorted() { return true }
        return plain.utf8.count >= 7 && own.edits(to: plain) == 1
    }
}
