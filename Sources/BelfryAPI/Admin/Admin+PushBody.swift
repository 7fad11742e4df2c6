import BelfryCore
import FoundationEssentials

extension Admin {
    /// What is to be sent, to whom, and until when.
    struct PushBody: Body {
        static let fields = ["message", "target", "expires_at", "urgency", "at_most_once"]
        private var content: Push.Content?
        private var target: TargetBody?
        private var expiresAt: Instant?
        private var urgency: Urgency?
        private var isAtMostOnce = false

        fileprivate enum Urgency: String, CaseIterable { case urgent, normal, bulk }

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "message": content = try Self.content(field, from: &reader)
            case "target": target = try TargetBody(field, from: &reader)
            case "expires_at": expiresAt = try reader.instant(field)
            case "urgency": urgency = try reader.choice(field)
            default: isAtMostOnce = try reader.bool(field) ?? false
            }
        }

        func order() throws(InvalidInput) -> Order {
            guard let content else { throw InvalidInput.missing("message") }
            guard let target else { throw InvalidInput.missing("target") }
            return Order(
                content: content, target: try target.checked(), lane: urgency.map(Lane.init),
                guarantee: isAtMostOnce ? .atMostOnce : .atLeastOnce, expiresAt: expiresAt)
        }

        private static func content(
            _ field: String, from reader: inout JSONReader
        ) throws(InvalidInput) -> Push.Content {
            var body: String?
            var custom: [String: JSONValue] = [:]
            try reader.object(field, of: ["body", "custom"]) { reader, name throws(InvalidInput) in
                guard name == "custom" else { return body = try reader.string("message.body") }
                try reader.object("message.custom") { reader, platform throws(InvalidInput) in
                    custom[platform] = try reader.value("message.custom.\(platform)")
                }
            }
            guard body != nil || !custom.isEmpty else {
                throw InvalidInput(field: field, "has neither body nor custom")
            }
            return Push.Content(body: body, custom: custom)
        }
    }

    /// Whom a push is for. Everyone has to be said: a forgotten field must not reach them.
    private struct TargetBody {
        private static let fields = [
            "everyone", "devices", "topics", "custom_user_ids", "platforms", "interactive_only",
        ]
        private var isEveryone = false
        private var devices: [UUID]?
        private var topics: [String] = []
        private var customUserIDs: [String] = []
        private var platforms: [PlatformKind]?
        private var isInteractiveOnly = false

        init(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            var target = self
            try reader.object(field, of: Self.fields) { reader, name throws(InvalidInput) in
                try target.read(name, "\(field).\(name)", from: &reader)
            }
            self = target
        }

        private mutating func read(
            _ name: String, _ field: String, from reader: inout JSONReader
        ) throws(InvalidInput) {
            switch name {
            case "everyone": isEveryone = try reader.bool(field) ?? false
            case "devices": devices = try reader.uuids(field)
            case "topics": topics = try reader.strings(field) ?? []
            case "custom_user_ids": customUserIDs = try reader.strings(field) ?? []
            case "platforms": platforms = try Self.kinds(try reader.strings(field), field)
            default: isInteractiveOnly = try reader.bool(field) ?? false
            }
        }

        private static func kinds(_ names: [String]?, _ field: String) throws(InvalidInput) -> [PlatformKind]? {
            guard let names else { return nil }
            var kinds: [PlatformKind] = []
            for (index, name) in names.enumerated() {
                kinds.append(try PlatformKind(name, field: "\(field)[\(index)]"))
            }
            return kinds
        }

        func checked() throws(InvalidInput) -> Target {
            let isNamed = devices != nil || !topics.isEmpty || !customUserIDs.isEmpty
            guard isNamed != isEveryone else {
                throw InvalidInput(
                    field: "target",
                    isNamed
                        ? "names somebody, so everyone cannot be meant"
                        : "has to name devices, topics or custom_user_ids, or say everyone: true")
            }
            guard devices == nil || topics.isEmpty && customUserIDs.isEmpty && platforms == nil else {
                throw InvalidInput(field: "target.devices", "goes with no other names")
            }
            return try Target(
                devices: devices, topics: topics, customUserIDs: customUserIDs, platforms: platforms,
                isInteractiveOnly: isInteractiveOnly)
        }
    }
}

extension Lane {
    fileprivate init(_ urgency: Admin.PushBody.Urgency) {
        self =
            switch urgency {
            case .urgent: .urgent
            case .normal: .normal
            case .bulk: .bulk
            }
    }
}
