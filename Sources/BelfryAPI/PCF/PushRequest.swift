package import BelfryCore

extension PCFv1 {
    /// The body of `POST /v1/push`.
    package struct PushRequest: Sendable, Hashable {
        package private(set) var message: Push.Content
        package private(set) var target: BelfryCore.Target
        /// Milliseconds since 1970; nil when not given, for which 0 stands too.
        package private(set) var scheduleAt: Int64?
        /// Seconds from now; nil when not given, for which 0 stands too.
        package private(set) var scheduleIn: Int64?
        /// Milliseconds since 1970.
        package private(set) var expiryTime: Int64?

        /// Whom the push is for. Empty arrays count as not given.
        struct Target {
            var devices: [String] = []
            /// With those of `tags`, their older name.
            var topics: [String] = []
            var customUserIDs: [String] = []
            var platforms: [String] = []
            /// Deprecated, and added to `platforms`: one more, or `all`. `""` counts as not given.
            var platform: String?
            var isInteractiveOnly = false
        }

        /// Reads a body; unknown keys are ignored, and `null` counts as missing. Throws on anything it cannot mean.
        package static func parse(_ bytes: [UInt8]) throws(InvalidInput) -> Self {
            var draft = Draft()
            try JSONReader.document(bytes) { reader, key throws(InvalidInput) in try draft.read(key, from: &reader) }
            return try draft.checked()
        }
    }
}

extension PCFv1.PushRequest {
    /// What was read so far.
    fileprivate struct Draft {
        var body: String?
        var custom: [String: JSONValue] = [:]
        var target: Target?
        var scheduleAt: Int64?
        var scheduleIn: Int64?
        var expiryTime: Int64?

        mutating func read(_ key: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch key {
            case "message": try readMessage(from: &reader)
            case "target": target = try reader.null() ? nil : Target(from: &reader)
            case "scheduleAt": scheduleAt = try reader.integer("scheduleAt")
            case "scheduleIn": scheduleIn = try reader.integer("scheduleIn")
            case "expiryTime": expiryTime = try reader.integer("expiryTime")
            default: try reader.skip()
            }
        }

        private mutating func readMessage(from reader: inout JSONReader) throws(InvalidInput) {
            body = nil
            custom = [:]
            if try reader.null() { return }
            try reader.object("message") { reader, key throws(InvalidInput) in
                switch key {
                case "body": body = try reader.string("message.body")
                case "custom": custom = try Self.custom(from: &reader)
                default: try reader.skip()
                }
            }
        }

        private static func custom(from reader: inout JSONReader) throws(InvalidInput) -> [String: JSONValue] {
            if try reader.null() { return [:] }
            var custom: [String: JSONValue] = [:]
            try reader.object("message.custom") { reader, key throws(InvalidInput) in
                let value = try reader.value("message.custom")
                try check(value, of: key)
                custom[key] = value.isNull ? nil : value
            }
            return custom
        }

        /// The keys of platforms we know hold an object each; that of BB10 is a text.
        private static func check(_ value: JSONValue, of key: String) throws(InvalidInput) {
            switch (key, value) {
            case (_, .null), ("bb10", .string): return
            case ("bb10", _):
                throw InvalidInput(field: "message.custom.bb10", "has to be a string, it is \(value.typeName)")
            case ("ios", .object), ("windows8", .object), ("windowsPhone", .object): return
            case (let key, .object) where key.hasPrefix("android"): return
            case ("ios", _), ("windows8", _), ("windowsPhone", _), ("android", _), ("android-fcm", _),
                ("androidFcm", _), ("android-baidu", _):
                throw InvalidInput(field: "message.custom.\(key)", "has to be an object, it is \(value.typeName)")
            default: return
            }
        }

        func checked() throws(InvalidInput) -> PCFv1.PushRequest {
            // Senders that fill in every field send an empty body with a custom part; that is no text to show.
            let body = body.flatMap { $0.isEmpty ? nil : $0 }
            guard body != nil || !custom.isEmpty else {
                throw InvalidInput(field: "message", "needs a body or a custom part, it has neither")
            }
            guard let target, target.isGiven else {
                throw InvalidInput(
                    field: "target", "needs at least one of devices, topics, custom_user_ids, platforms or platform")
            }
            let scheduleAt = scheduleAt.flatMap { $0 == 0 ? nil : $0 }
            let scheduleIn = scheduleIn.flatMap { $0 == 0 ? nil : $0 }
            guard scheduleAt == nil || scheduleIn == nil else {
                throw InvalidInput(field: "scheduleAt", "and scheduleIn are both given, a push takes one of them")
            }
            try Self.check(scheduleAt, "scheduleAt")
            try Self.check(scheduleIn, "scheduleIn")
            try Self.check(expiryTime, "expiryTime")
            return PCFv1.PushRequest(
                message: Push.Content(body: body, custom: custom), target: try BelfryCore.Target(target),
                scheduleAt: scheduleAt,
                scheduleIn: scheduleIn, expiryTime: expiryTime.flatMap { $0 == 0 ? nil : $0 })
        }

        private static func check(_ time: Int64?, _ field: String) throws(InvalidInput) {
            if let time, time < 0 { throw InvalidInput(field: field, "is \(time), it has to be 0 or more") }
        }
    }
}

extension PCFv1.PushRequest.Target {
    fileprivate init(from reader: inout JSONReader) throws(InvalidInput) {
        var target = Self()
        try reader.object("target") { reader, key throws(InvalidInput) in try target.read(key, from: &reader) }
        self = target
    }

    private mutating func read(_ key: String, from reader: inout JSONReader) throws(InvalidInput) {
        switch key {
        case "devices": devices = try reader.strings("target.devices") ?? []
        case "topics": topics += try reader.strings("target.topics") ?? []
        case "tags": topics += try reader.strings("target.tags") ?? []
        case "custom_user_ids": customUserIDs = try reader.strings("target.custom_user_ids") ?? []
        case "platforms": platforms = try reader.strings("target.platforms") ?? []
        case "platform": platform = try reader.string("target.platform").flatMap { $0.isEmpty ? nil : $0 }
        case "interactive-only": isInteractiveOnly = try reader.bool("target.interactive-only") ?? false
        default: try reader.skip()
        }
    }

    fileprivate var isGiven: Bool {
        !devices.isEmpty || !topics.isEmpty || !customUserIDs.isEmpty || !platforms.isEmpty || platform != nil
    }
}
