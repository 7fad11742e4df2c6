// The stored form of a push's content. It was validated when it was accepted, and is not validated again when it is
// read.

extension Push.Content {
    /// Decodes the stored JSON. Throws `InvalidInput` if it is malformed.
    package init(stored text: [UInt8]) throws(InvalidInput) {
        self.init()
        var content = self
        try JSONReader.document(text) { reader, key throws(InvalidInput) in
            switch key {
            case "body": content.body = try reader.string("body")
            case "shared":
                content.shared = SharedFields(stored: try reader.members("shared", bytesMax: .max) ?? [:])
            case "custom": content.custom = try reader.members("custom", bytesMax: .max) ?? [:]
            case "apple": content.apple = try reader.null() ? nil : try ApplePush(stored: &reader)
            case "web": content.web = try reader.members("web", bytesMax: .max).map { WebMessage(stored: $0) }
            case "badge": content.badge = BadgeChange(stored: try reader.value("badge"))
            case "isTemplate": content.isTemplate = try reader.bool("isTemplate") ?? false
            case "translations":
                content.translations = Translations(stored: try reader.members(key, bytesMax: .max) ?? [:])
            case "pacing": content.pacing = try Pacing(stored: try reader.members(key) ?? [:])
            case "template":
                content.template = try reader.string(key).map { (text) throws(InvalidInput) in
                    try TemplateReference(stored: text)
                }
            case "follows":
                content.follows = try reader.members(key).map { (members) throws(InvalidInput) in
                    try FollowedPush(stored: members)
                }
            case "ciphertext":
                content.ciphertext = try reader.members(key, bytesMax: .max).map { (members) throws(InvalidInput) in
                    try Ciphertext(stored: members)
                }
            case "encrypted":
                content.encrypted = try reader.members(key, bytesMax: .max).map(EncryptedContent.init(stored:))
            case "language": content.language = try reader.string(key)
            case "values": content.values = try .init(json: try reader.members(key, bytesMax: .max) ?? [:], field: key)
            default: try reader.skip()
            }
        }
        self = content
    }

    /// The stored form.
    package var storedText: String { stored.storedText }

    /// The stored form. Throws unless it can be stored and read back. That includes parts that no platform reads.
    @discardableResult
    package func checkStored() throws(InvalidInput) -> String {
        try stored.checkStored("message", bytesMax: PushLimits.contentBytesMax)
    }

    private var stored: JSONValue {
        var members: JSONObject = ["custom": .object(custom)]
        // A nil would be looked up too.
        if let body { members["body"] = .string(body) }
        if !shared.isEmpty { members["shared"] = .object(shared.json) }
        if let apple { members["apple"] = apple.stored }
        if let web { members["web"] = web.json }
        if let badge { members["badge"] = badge.json }
        if isTemplate { members["isTemplate"] = .bool(true) }
        if !translations.isEmpty { members["translations"] = translations.json }
        if !pacing.isEmpty { members["pacing"] = .object(pacing.json) }
        if let language { members["language"] = .string(language) }
        if let template { members["template"] = .string(template.text) }
        if !values.isEmpty { members["values"] = values.json }
        if let follows { members["follows"] = follows.stored }
        if let ciphertext { members["ciphertext"] = ciphertext.stored }
        if let encrypted { members["encrypted"] = encrypted.stored }
        return .object(members)
    }
}

extension [PlatformKind] {
    /// Decodes the stored form. Throws `InvalidInput` if a name is unknown.
    package init(stored text: String) throws(InvalidInput) {
        self = []
        for name in text.split(separator: ",") { append(try PlatformKind(String(name), field: "platforms")) }
    }

    /// The stored form.
    package var storedText: String { map(\.rawValue).joined(separator: ",") }
}

extension ApplePush {
    fileprivate init(stored reader: inout JSONReader) throws(InvalidInput) {
        var type: Kind?
        var priority: Priority?
        var collapseID: String?
        var isStored = true
        var isVerbatim = false
        var payload: JSONObject = [:]
        try reader.object("apple") { reader, key throws(InvalidInput) in
            switch key {
            case "type": type = try reader.string("apple.type").flatMap(Kind.init)
            case "priority": priority = try reader.integer("apple.priority").flatMap(Priority.init)
            case "collapseID": collapseID = try reader.string("apple.collapseID")
            case "isStored": isStored = try reader.bool("apple.isStored") ?? true
            case "isVerbatim": isVerbatim = try reader.bool("apple.isVerbatim") ?? false
            case "payload": payload = try reader.members("apple.payload", bytesMax: .max) ?? [:]
            default: try reader.skip()
            }
        }
        guard let type else { throw InvalidInput(field: "apple.type", "is unknown") }
        self.init(
            unchecked: type, priority: priority, collapseID: collapseID, isStored: isStored, payload: payload,
            isVerbatim: isVerbatim)
    }

    fileprivate var stored: JSONValue {
        var members: JSONObject = [
            "type": .string(type.rawValue), "isStored": .bool(isStored), "payload": .object(payload),
        ]
        members["priority"] = priority.map { .integer($0.rawValue) }
        members["collapseID"] = collapseID.map(JSONValue.string)
        if isVerbatim { members["isVerbatim"] = .bool(true) }
        return .object(members)
    }
}
