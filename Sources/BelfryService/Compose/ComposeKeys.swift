/// The keys of a kind of platform, folded together in the form.
struct ComposeGroup: Sendable {
    let title: String
    let text: String
    let keys: [ComposeKey]
    let rests: [ExtraJSONField]
}

/// The keys that the API takes for each platform, as groups of fields.
enum ComposeKeys {
    private static let custom = ["message", "custom"]

    /// The groups for the kinds of platform that an application has.
    static func groups(_ kinds: [PlatformKind]) -> [ComposeGroup] {
        var groups: [ComposeGroup] = []
        if kinds.contains(.ios) { groups.append(ios) }
        if kinds.contains(where: \.isApple) { groups.append(apns) }
        if kinds.contains(where: \.isAndroidLike) { groups.append(android(kinds)) }
        if kinds.contains(.web) { groups.append(web) }
        if kinds.contains(.windows8) { groups.append(windows) }
        if kinds.contains(.windowsPhone) { groups.append(windowsPhone) }
        if kinds.contains(.bb10) { groups.append(blackBerry) }
        return groups
    }

    // MARK: Apple

    private static let ios: ComposeGroup = {
        let root = custom + ["ios"]
        let alert = root + ["alert"]
        return ComposeGroup(
            title: "iOS, iPadOS, macOS", text: "Keys of aps and its alert, in Apple's words.",
            keys: [
                ComposeKey(alert + ["title"], "Title"), ComposeKey(alert + ["subtitle"], "Subtitle"),
                ComposeKey(alert + ["body"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(root + ["sound"], "Sound", hint: "default, or a file of the app."),
                ComposeKey(root + ["badge"], "Badge", .badge, hint: "A number, or +1 to count up."),
                ComposeKey(root + ["category"], "Category", hint: "Its buttons are in the app."),
                ComposeKey(root + ["thread-id"], "Thread", hint: "Notifications of one are grouped."),
                ComposeKey(
                    root + ["interruption-level"], "Interruption level",
                    strings("passive", "active", "time-sensitive", "critical")),
                ComposeKey(root + ["relevance-score"], "Relevance", .fraction, hint: "0 to 1, in the summary."),
                ComposeKey(root + ["target-content-id"], "Window", hint: "target-content-id"),
                ComposeKey(root + ["filter-criteria"], "Focus filter", hint: "filter-criteria"),
                ComposeKey(alert + ["launch-image"], "Launch image"),
                ComposeKey(alert + ["title-loc-key"], "Title's key in the app's texts"),
                ComposeKey(alert + ["title-loc-args"], "Its arguments", .lines, hint: "One per line."),
                ComposeKey(alert + ["subtitle-loc-key"], "Subtitle's key"),
                ComposeKey(alert + ["subtitle-loc-args"], "Its arguments", .lines, hint: "One per line."),
                ComposeKey(alert + ["loc-key"], "Text's key"),
                ComposeKey(alert + ["loc-args"], "Its arguments", .lines, hint: "One per line."),
                ComposeKey(alert + ["action-loc-key"], "Button's key"),
                ComposeKey(root + ["mutable-content"], "The app may change it before it is shown", .box(.integer(1))),
                ComposeKey(root + ["content-available"], "Wake the app", .box(.bool(true))),
                ComposeKey(root + ["extra"], "Data beside aps (JSON)", .json),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let apns: ComposeGroup = {
        let root = ["message", "apns"]
        return ComposeGroup(
            title: "Apple's own format: background, calls, Live Activities, widgets",
            text: "In place of the keys above: the payload as Apple documents it, for one push type.",
            keys: [
                ComposeKey(
                    root + ["type"], "Push type",
                    .choice(ApplePush.Kind.allCases.map { ($0.rawValue, .string($0.rawValue)) })),
                ComposeKey(
                    root + ["priority"], "Priority",
                    .choice(ApplePush.Priority.allCases.map { ("\($0.rawValue)", .integer($0.rawValue)) })),
                ComposeKey(root + ["collapse_id"], "Collapse id", hint: "A later one replaces an earlier one."),
                ComposeKey(
                    root + ["store"], "Kept for devices that are off",
                    .choice([("yes", .bool(true)), ("no", .bool(false))])),
                ComposeKey(
                    root + ["payload"], "Payload (JSON)", .json, hint: #"Such as {"aps": {"alert": "Hello"}}."#),
            ], rests: [ExtraJSONField(root)])
    }()

    // MARK: Android

    private static func android(_ kinds: [PlatformKind]) -> ComposeGroup {
        let root = custom + ["android"]
        let own = PlatformKind.allCases.filter(kinds.contains).compactMap { kind -> ExtraJSONField? in
            guard case .android(let form) = kind.traits.payload, let part = form.parts.first else { return nil }
            return ExtraJSONField(custom + [part], "\(kind.title) alone (JSON)", hint: "In place of all of these.")
        }
        return ComposeGroup(
            title: "Android", text: "A flat map of texts, which the app reads; message is what its user sees.",
            keys: [
                ComposeKey(root + ["title"], "Title"),
                ComposeKey(root + ["message"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(
                    root + ["collapse_key"], "Collapse key", hint: "Of waiting messages only the last is delivered."),
                ComposeKey(
                    root + ["priority"], "Priority of data that is not shown", strings("high"),
                    hint: "Shown notifications are always high."),
            ],
            rests: [ExtraJSONField(root, "Data (JSON)", hint: #"Such as {"story": "17"}."#)]
                + own)
    }

    // MARK: Browsers

    private static let web: ComposeGroup = {
        let root = ["message", "web"]
        return ComposeGroup(
            title: "Browsers", text: "A notification in the terms of the web. It needs a title.",
            keys: [
                ComposeKey(root + ["title"], "Title"),
                ComposeKey(root + ["body"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(root + ["icon"], "Icon", hint: "https, or a path of the site."),
                ComposeKey(root + ["image"], "Picture"),
                ComposeKey(root + ["badge"], "Badge picture", hint: "In one colour, for Android's status bar."),
                ComposeKey(root + ["navigate"], "Opens"),
                ComposeKey(
                    root + ["actions"], "Buttons", .actions,
                    hint: "One per line, four at most: name | title | page | icon. Browsers show two."),
                ComposeKey(root + ["data"], "Data (JSON)", .json),
                ComposeKey(
                    root + ["topic"], "Topic at the push service",
                    hint: "Replaces the one before of the same topic. Up to 32 letters, digits, - and _."),
                ComposeKey(
                    root + ["urgency"], "Urgency for a browser on battery",
                    .choice(WebMessage.Urgency.allCases.map { ($0.rawValue, .string($0.rawValue)) })),
                ComposeKey(root + ["ttl"], "Kept for seconds", .whole, hint: "0: now or never."),
                ComposeKey(root + ["app_badge"], "Number on the icon", .badge, hint: "A number, or +1 to count up."),
                ComposeKey(root + ["lang"], "Language", hint: "Such as en-GB."),
                ComposeKey(root + ["dir"], "Direction", strings("auto", "ltr", "rtl")),
                ComposeKey(root + ["silent"], "No sound", .box(.bool(true))),
                ComposeKey(root + ["require_interaction"], "Stays until it is clicked", .box(.bool(true))),
            ],
            rests: [
                ExtraJSONField(root),
                ExtraJSONField(
                    custom + ["web"], "For a worker of your own (JSON)",
                    hint: "Any object, in place of the notification above."),
            ])
    }()

    // MARK: Windows and BlackBerry

    private static let windows: ComposeGroup = {
        let root = custom + ["windows8"]
        return ComposeGroup(
            title: "Windows", text: "Without any of these a toast shows the message.",
            keys: [
                ComposeKey(root + ["type"], "Type", strings("toast", "tile", "badge", "raw")),
                ComposeKey(root + ["template_name"], "Template", hint: "Such as ToastText02."),
                ComposeKey(
                    root + ["template_fields"], "Its fields (JSON)", .json,
                    hint: #"Such as {"textField1": "Hello", "imgSrc1": "https://…"}."#),
                ComposeKey(root + ["options", "launch"], "Launch", hint: "What the app gets when it is clicked."),
                ComposeKey(root + ["options", "duration"], "Duration", strings("short", "long")),
                ComposeKey(
                    root + ["options", "audioSrc"], "Sound", hint: "Such as ms-winsoundevent:Notification.Mail."),
                ComposeKey(root + ["options", "audioLoop"], "Repeat the sound", .box(.bool(true))),
                ComposeKey(root + ["options", "audioSilent"], "No sound", .box(.bool(true))),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let windowsPhone: ComposeGroup = {
        let root = custom + ["windowsPhone"]
        return ComposeGroup(
            title: "Windows Phone", text: "Without any of these a toast shows the message.",
            keys: [
                ComposeKey(
                    root + ["template"], "Template",
                    strings("toast", "tile", "flipTile", "cycleTile", "iconicTile", "raw")),
                ComposeKey(
                    root + ["template_fields"], "Its fields (JSON)", .json,
                    hint: #"Such as {"subtitle": "Hello", "parameter": "/Page.xaml"}."#),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let blackBerry = ComposeGroup(
        title: "BlackBerry 10", text: "",
        keys: [ComposeKey(custom + ["bb10"], "Text", .text, hint: "Empty: the message.")], rests: [])

    private static func strings(_ choices: String...) -> ComposeKey.Kind {
        .choice(choices.map { ($0, .string($0)) })
    }
}

extension PlatformKind {
    /// Whether its devices get a flat map of texts.
    var isAndroidLike: Bool {
        if case .android = traits.payload { true } else { false }
    }
}

/// A key of a push that has a field of its own in the form.
struct ComposeKey: Sendable {
    /// How its value is typed.
    enum Kind: Sendable {
        case line, text, whole, fraction, badge
        /// An array of strings, one a line.
        case lines
        /// Buttons of a web notification, one a line: name, title, page and icon with bars between them.
        case actions
        case json
        /// A box that stands for a value; unticked, the key is left out.
        case box(JSONValue)
        case choice([(String, JSONValue)])
    }

    /// The path within the request of the admin API.
    let path: [String]
    /// The name of the field; by default its path, so that errors of the API are shown at the field.
    let name: String
    let label: String
    let kind: Kind
    let hint: String

    init(_ path: [String], _ label: String, _ kind: Kind = .line, hint: String = "", name: String? = nil) {
        self.path = path
        self.name = name ?? path.joined(separator: ".")
        self.label = label
        self.kind = kind
        self.hint = hint
    }

    var field: Field {
        switch kind {
        case .line, .whole, .fraction, .badge: .text(name, label, hint: hint)
        case .text, .lines, .actions: .area(name, label, hint: hint)
        case .json: .area(name, label, hint: hint, isMono: true)
        case .box: .check(name, label, hint: hint)
        case .choice(let choices):
            .select(name, label, "", [("", "Not set")] + choices.map { ($0.0, $0.0) }, hint: hint)
        }
    }

    /// The value that the field holds; nil while it is empty.
    func value(in form: FormData) throws(InvalidInput) -> JSONValue? {
        let text = form.raw(name)
        if case .box(let value) = kind { return text.isEmpty ? nil : value }
        let trimmed = text.trimmed
        guard !trimmed.isEmpty else { return nil }
        switch kind {
        case .line, .box: return .string(trimmed)
        case .text: return .string(text)
        case .whole: return .integer(try whole(trimmed))
        case .badge: return trimmed.hasPrefix("+") ? .string(trimmed) : .integer(try whole(trimmed))
        case .fraction:
            switch try json(trimmed, orElse: "has to be a number") {
            case .integer(let number): return .integer(number)
            case .number(let number): return .number(number)
            default: throw InvalidInput(field: name, "has to be a number")
            }
        case .lines: return .strings(lines(text))
        case .actions: return .array(try lines(text).map(action))
        case .json: return try json(text)
        case .choice(let choices):
            guard let choice = choices.first(where: { $0.0 == trimmed }) else {
                throw InvalidInput(
                    field: name, "has to be one of \(choices.map(\.0).joined(separator: ", "))")
            }
            return choice.1
        }
    }

    /// The field's text for a value; nil for a value that it would not give back as it is.
    func text(of value: JSONValue) -> String? {
        guard let text = written(value), !text.isEmpty, !text.utf8.contains(0x0D) else { return nil }
        var form = FormData()
        do { try form.add(name, text) } catch { return nil }
        guard let read = try? self.value(in: form), read == value else { return nil }
        return text
    }

    private func written(_ value: JSONValue) -> String? {
        switch (kind, value) {
        case (.box(let own), _): own == value ? "yes" : nil
        case (.choice(let choices), _): choices.first { $0.1 == value }?.0
        case (.line, .string(let text)): text.utf8.contains(0x0A) ? nil : text
        case (.text, .string(let text)), (.badge, .string(let text)): text
        case (.whole, .integer), (.badge, .integer), (.fraction, .integer), (.fraction, .number): value.flat
        case (.lines, .array(let elements)):
            elements.allSatisfy { $0.stringValue != nil }
                ? elements.compactMap(\.stringValue).joined(separator: "\n") : nil
        case (.actions, .array(let elements)): written(actions: elements)
        case (.json, _): value.pretty
        default: nil
        }
    }

    // MARK: Parts

    private func whole(_ text: String) throws(InvalidInput) -> Int64 {
        guard let number = Int64(text) else { throw InvalidInput(field: name, "has to be a whole number") }
        return number
    }

    private func json(_ text: String, orElse problem: String? = nil) throws(InvalidInput) -> JSONValue {
        do throws(InvalidInput) { return try JSONValue(json: Array(text.utf8), field: name) } catch {
            throw InvalidInput(field: name, problem ?? error.problem)
        }
    }

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { String($0).trimmed }.filter { !$0.isEmpty }
    }

    private static let actionParts = ["action", "title", "navigate", "icon"]

    private func action(_ line: String) throws(InvalidInput) -> JSONValue {
        let parts = line.split(separator: "|", omittingEmptySubsequences: false).map { String($0).trimmed }
        guard 2...Self.actionParts.count ~= parts.count, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw InvalidInput(field: name, "has the line '\(line.prefix(60))', which is not name | title | page")
        }
        let members = zip(Self.actionParts, parts).filter { !$0.1.isEmpty }
        return .object(JSONObject(members.map { (key: $0.0, value: .string($0.1)) }))
    }

    private func written(actions: [JSONValue]) -> String? {
        var lines: [String] = []
        for action in actions {
            guard case .object(let members) = action, Set(members.keys).isSubset(of: Self.actionParts) else {
                return nil
            }
            var parts = Self.actionParts.map { members[$0]?.stringValue ?? "" }
            while parts.last?.isEmpty == true { parts.removeLast() }
            lines.append(parts.joined(separator: " | "))
        }
        return lines.joined(separator: "\n")
    }
}

/// A field for the keys below a path that have no field of their own, as JSON.
struct ExtraJSONField: Sendable {
    let path: [String]
    let name: String
    let label: String
    let hint: String

    init(_ path: [String], _ label: String = "Other keys (JSON)", hint: String = "", name: String? = nil) {
        self.path = path
        self.name = name ?? path.joined(separator: ".")
        self.label = label
        self.hint = hint
    }

    var field: Field { .area(name, label, hint: hint, isMono: true) }

    /// An object, or nil while the field is empty.
    func value(in form: FormData) throws(InvalidInput) -> JSONValue? {
        guard let value = try ComposeKey(path, label, .json, name: name).value(in: form) else { return nil }
        _ = try value.demandObject(name)
        return value
    }
}

/// A JSON value as a tree of named places.
extension JSONValue {
    func value(at path: some Collection<String>) -> JSONValue? {
        var value = self
        for name in path {
            guard let member = value[name] else { return nil }
            value = member
        }
        return value
    }

    /// The value with another one at a place; nil where something else than an object is in the way.
    func setting(_ value: JSONValue, at path: ArraySlice<String>) -> JSONValue? {
        guard let name = path.first else { return value }
        var members: JSONObject = [:]
        switch self {
        case .object(let own): members = own
        case .null: break
        default: return nil
        }
        guard let set = (members[name] ?? .object([:])).setting(value, at: path.dropFirst()) else { return nil }
        members[name] = set
        return .object(members)
    }

    /// The value with the members of another object, which win where both have one.
    func merging(_ other: JSONValue) -> JSONValue {
        guard case .object(let mine) = self, case .object(let theirs) = other else { return other }
        return .object(mine.merging(theirs) { $0.merging($1) })
    }

    /// The value without a place, and without the objects that it leaves empty; nil when nothing is left.
    func removing(_ path: ArraySlice<String>) -> JSONValue? {
        guard let name = path.first else { return nil }
        guard case .object(var members) = self, let member = members[name] else { return self }
        members[name] = member.removing(path.dropFirst())
        return members.isEmpty ? nil : .object(members)
    }
}
