import FoundationEssentials

/// A message of a script or a monitoring system, on its way to becoming a push.
struct Publication: Sendable, Hashable {
    var title: String?
    var body: String?
    /// From 1, shown quietly, to 5; 4 and 5 go before other pushes.
    var priority = 3
    var link: String?
    var image: String?
    /// A later publication with the same one takes its place on the device.
    var collapseKey: String?
    /// Members for the app.
    var data: JSONObject = [:]
    /// Texts for the placeholders of a template, beside its title and its message.
    var values: [String: String] = [:]
    /// nil for the topic of the endpoint.
    var topic: String?
    /// When to send it; nil for now.
    var sendAt: Instant?

    static let priorities: ClosedRange<Int64> = 1...5
    static let bytesMax = 262_144

    /// - Parameters:
    ///   - template: the endpoint's template, and the names of the values in its texts; nil for the publisher's own text.
    ///   - bytesMax: the most bytes of that text, or of each value.
    func pushRequest(
        _ options: PublisherOptions, template: (reference: TemplateReference, values: Set<String>)?, bytesMax: Int
    ) throws(InvalidInput) -> PushRequest {
        var texts: [SharedFields.Name: String] = [:]
        texts[.title] = title?.cut(toBytes: bytesMax)
        texts[.link] = link
        texts[.image] = image
        texts[.collapseKey] = collapseKey?.asKey(of: SharedFields.collapseKeyBytesMax, takingSigns: true)
        if priority >= 3 { texts[.sound] = "default" }
        var content = Push.Content(body: body?.cut(toBytes: bytesMax), shared: SharedFields(texts, data: data))
        if let template {
            (content.body, texts[.title]) = (nil, nil)
            content.shared = SharedFields(
                texts.mapValues(\.withLiteralBraces), data: data.mapValues(\.withLiteralBraces))
            content.template = template.reference
            content.isTemplate = true
            let values = ["title": title ?? "", "message": body ?? ""].merging(values) { $1 }
            content.values = values.filter { template.values.contains($0.key) }.mapValues {
                .text($0.cut(toBytes: bytesMax))
            }
        } else {
            try content.checkMessage()
        }
        let topic = topic ?? options.topic
        return PushRequest(
            content: content,
            target: try topic.map { (name) throws(InvalidInput) in try Target(topics: [name]) } ?? .everyone,
            lane: priority >= 4 ? .urgent : priority <= 2 ? .bulk : nil)
    }
}

extension String {
    /// The text for a template: what a publisher writes has no placeholders.
    fileprivate var withLiteralBraces: String { replacing("{{", with: "{{ '{{' }}") }
}

extension JSONValue {
    fileprivate var withLiteralBraces: JSONValue {
        switch self {
        case .string(let text): .string(text.withLiteralBraces)
        case .array(let values): .array(values.map(\.withLiteralBraces))
        case .object(let members): .object(members.mapValues(\.withLiteralBraces))
        default: self
        }
    }
}

/// The options of an endpoint for publishers.
struct PublisherOptions: Sendable {
    /// The topic whose devices get a message that names none; nil for all devices of the application.
    let topic: String?
    /// The name of a saved template that makes the text; nil for the publisher's own text.
    let template: TemplateReference?

    /// Throws unless the options say who gets the messages.
    init(_ options: [String: String], of kind: OpenEndpoint.Kind) throws(InvalidInput) {
        for name in options.keys where !["topic", "everyone", "template"].contains(name) {
            throw InvalidInput.unknown("options.\(name)", instead: ["topic", "everyone", "template"])
        }
        topic = try options["topic"].map { (name) throws(InvalidInput) in
            try Topic.normalized(name, field: "options.topic")
        }
        template = try options["template"].map { (name) throws(InvalidInput) in
            try TemplateReference(name, field: "options.template")
        }
        guard kind == .ntfy || topic != nil || options["everyone"] == "true" else {
            throw InvalidInput(field: "options.topic", #"is missing; "everyone": "true" sends to all devices"#)
        }
    }
}

extension JSONObject {
    /// The text of a member; nil where it is absent, null or empty. Throws on anything but a text.
    func text(_ name: String) throws(InvalidInput) -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        let text = try value.demandText(name)
        return text.isEmpty ? nil : text
    }

    /// The members of a JSON text that is an object.
    static func body(_ bytes: [UInt8]) throws(InvalidInput) -> JSONObject {
        guard case .object(let members) = try JSONValue(json: bytes) else {
            throw InvalidInput(field: "body", "has to be a JSON object")
        }
        return members
    }
}
