import FoundationEssentials

/// The form in which a push is written. What it says is a request of the admin API, and every such request has a form.
struct ComposeForm: Sendable {
    /// The kinds of platform of the application.
    let kinds: [PlatformKind]
    /// Places at which devices may show a push by themselves, when they come or go; empty where the person may make no geofence.
    let places: [ComposePlace]
    /// The names of the application's segments.
    let segments: [String]
    /// The address that the form is posted to.
    let action: String
    /// The schedule that the form changes; nil where it makes a new push.
    let schedule: Schedule?

    private let groups: [ComposeGroup]
    private static let rest = ExtraJSONField(
        ["message", "custom"], "Content for other platforms (JSON)",
        hint: #"As the API takes it, such as {"ios": {"category": "news"}}. Fields have precedence."#, name: "custom")

    /// The field for messages that no other field can hold, such as a text with line ends that browsers change.
    private static let whole = ExtraJSONField(["message"], "Message (JSON)", name: "message")

    static let body = ComposeKey(["message", "body"], "Message", .text, name: "body")
    /// Fields that each platform shows in its own way.
    private static let shared = [
        key("title", "Title"),
        key("link", "Link", hint: "What a tap opens: a page, or a place in the app such as shop://cheese."),
        key("image", "Picture", hint: "An https URL."),
        key("sound", "Sound", hint: "default, or a sound of the app."),
    ]
    private static let data = key(
        "data", "Data for the app (JSON)", .json, hint: #"Such as {"story": "17"}; goes to every platform."#)
    private static let behaviour = [
        key("category", "Category", hint: "Its buttons on Apple's devices; the action of a tap on Android."),
        key("channel", "Notification channel", hint: "On Android."),
        key("collapse_key", "Collapse key", hint: "Replaces an earlier one with the same. Up to 64 bytes."),
        key("thread", "Thread", hint: "Apple's devices group those of one."),
    ]

    private static func key(
        _ name: String, _ label: String, _ kind: ComposeKey.Kind = .line, hint: String = ""
    ) -> ComposeKey {
        ComposeKey(["message", name], label, kind, hint: hint, name: name)
    }

    /// Keys that stand beside no platform's name.
    private static var common: [ComposeKey] { [body, template, badge, data] + shared + behaviour + languages }
    private static let languages = [
        key("language", "Language of the texts", hint: "Such as en or pt-BR: plurals, numbers and dates follow it."),
        key(
            "translations", "Other languages (JSON)", .json,
            hint: #"Such as {"de": {"title": "Neues", "body": "Frischer Käse"}}."#),
        key(
            "values", "Values (JSON)", .json,
            hint: #"For placeholders that are the same for all: {"count": 3} fills {{ values.count }}."#),
    ]
    private static let template = ComposeKey(
        ["message", "template"], "Fill in placeholders", .box(.bool(true)),
        hint: "Such as {{ user.name | default: 'you' }}, filled in for each device.", name: "template")
    private static let badge = ComposeKey(
        ["message", "badge"], "Badge", .badge, hint: "The number on the app's icon, or +1 to count up.", name: "badge")

    /// - Parameter present: the kinds of platform of the application.
    init(
        _ present: Set<PlatformKind>, action: String, places: [ComposePlace] = [], segments: [String] = [],
        schedule: Schedule? = nil
    ) {
        kinds = PlatformKind.allCases.filter(present.contains)
        groups = ComposeKeys.groups(kinds)
        self.places = places
        self.segments = segments
        self.action = action
        self.schedule = schedule
    }

    // MARK: Fields

    /// The form as it was filled in.
    func form(_ data: FormData = FormData()) -> Form {
        var form = messageForm("Review", data)
        let saved = Field.text(
            Self.saved, "Saved template",
            hint: "Its name, or a version such as welcome@3. What is filled in here goes before it.")
        let message = FieldGroup("Message", form.fields + [saved])
        (form.fields, form.groups) = (
            [], [audience(data), message, times, RecurrenceForm.group, Self.limits] + form.groups
        )
        // A form that was not filled in yet has what its fields begin with.
        if !data.isEmpty { form.keep(data) }
        form.hidden = hidden(data)
        form.others = [.init(name: "action", value: "json", label: "Edit as JSON")]
        return form
    }

    /// The fields of a message alone.
    ///
    /// - Parameter translations: the groups of a template's languages; nil for one field with JSON.
    func messageForm(_ submit: String, _ data: FormData, translations: [FieldGroup]? = nil) -> Form {
        var form = Form(action, submit, Self.message)
        if !data[Self.whole.name].isEmpty { form.fields.append(Self.whole.field) }
        form.layout = .wide
        form.isMultipart = true
        let languages = Self.languages.filter { translations == nil || $0.name != "translations" }
        form.groups =
            [FieldGroup("Languages and values", languages.map(\.field), isFolding: true)] + (translations ?? [])
            + groups.map {
                FieldGroup($0.title, text: $0.text, $0.keys.map(\.field) + $0.rests.map(\.field), isFolding: true)
            } + [
                FieldGroup("How it is shown", Self.behaviour.map(\.field), isFolding: true),
                FieldGroup("Other content", [Self.rest.field], isFolding: true),
            ]
        return form
    }

    /// The field with the name of a saved template.
    private static let saved = "saved"

    /// The form for the same push as JSON of the admin API.
    func jsonForm(_ text: String) -> Form {
        var form = Form(
            action, "Review",
            [
                .area(
                    "json", "Request of the admin API", text,
                    hint: "The form has a field for each key; keys that it has none for stay as they are.",
                    isMono: true)
            ])
        form.layout = .wide
        form.isMultipart = true
        form.hidden = [.init(name: "mode", value: "json")] + version
        form.others = [.init(name: "action", value: "form", label: "Back to the form")]
        return form
    }

    private static let message: [Field] =
        [.area("body", "Message", placeholder: "What people read")] + shared.map(\.field)
        + [badge, template, data].map(\.field)

    private func audience(_ data: FormData) -> FieldGroup {
        var choices = [
            ("everyone", "Everyone"), ("topics", "Subscribers of topics"), ("users", "Users"), ("devices", "Devices"),
            ("where", "Devices that an expression means"),
        ]
        if !segments.isEmpty { choices.append(("segment", "A segment")) }
        if !places.isEmpty { choices.append(("place", "Devices that come to a place, or leave it")) }
        if !data["target"].isEmpty { choices.append(("json", "The target in the JSON")) }
        var fields: [Field] = [
            .select("audience", "To", "everyone", choices),
            .file(
                "device_file", "A file of devices", accept: ".txt,.csv,text/plain,text/csv",
                hint: "Device UUIDs, one a line, \(PushLimits.devicesMax.grouped) at most."
            ).only(for: "audience", ["devices"]),
            .area(
                "names", "Which topics, users or devices",
                hint:
                    "One per line, or with commas between them: topic names, custom user ids or device UUIDs. A single name with a "
                    + "comma in it stands in \"quotation marks\"."
            ).only(for: "audience", ["topics", "users", "devices", "place"]),
            .area(
                "where", "Expression",
                hint: "With an expression: its terms, or segment:NAME. docs/Audiences.md has all of them.",
                placeholder: "topic:news -topic:sports lang:de version>=5 seen:P30D", isMono: true
            ).only(for: "audience", ["where"]),
            .area("also_users", "And these users", hint: "With topics: those who subscribe, and these users besides.")
                .only(for: "audience", ["topics"]),
        ]
        if !segments.isEmpty {
            fields.append(
                .select("segment", "Segment", "", segments.map { ($0, $0) }).only(for: "audience", ["segment"]))
        }
        if !places.isEmpty {
            fields += [
                .select("place", "Place", "", places.map { ($0.id, $0.name) }, hint: "For devices that come to it.")
                    .only(for: "audience", ["place"]),
                .select(
                    "trigger", "When the device", "enter", [("enter", "enters"), ("exit", "leaves")],
                    hint: "It is shown until the push expires."
                ).only(for: "audience", ["place"]),
            ]
        }
        if !data["target"].isEmpty {
            fields.append(.area("target", "Target (JSON)", isMono: true).only(for: "audience", ["json"]))
        }
        let offered = offeredKinds(data)
        if offered.count > 1 || isListed(data) {
            fields += offered.map {
                .check("on-\($0.rawValue)", "On \($0.title)", true)
                    .only(for: "audience", ["everyone", "topics", "users", "place"])
            }
        }
        fields.append(
            .check("interactive_only", "Only devices that show buttons", hint: "iOS 8, Android 4.1 and later.")
                .only(for: "audience", ["everyone", "topics", "users", "devices", "where", "segment"]))
        return FieldGroup("To whom", fields)
    }

    private var times: FieldGroup {
        FieldGroup(
            "When",
            [
                .time("send_at", "Send at", hint: "Empty: now."),
                .select(
                    "clock", "By the clock", "", [("", "of that time zone"), ("local", "of each recipient")],
                    hint: "Of each recipient: it goes round the world in up to 26 hours."),
                .select(
                    "past", "If that time is past", "",
                    [("", "Send it at once"), ("next_day", "Send it the next day"), ("skip", "Do not send it")],
                    hint: "By the clock of each recipient."
                ).only(for: "clock", ["local"]),
                .text(
                    "default_zone", "Time zone where none is known",
                    hint: "Such as Europe/Vienna, by the clock of each recipient. Empty: UTC."
                ).only(for: "clock", ["local"]),
                .time("expires_at", "Expires at", hint: "Empty: the provider decides."),
                .select(
                    "urgency", "Urgency", "",
                    [("", "By the size of the audience"), ("urgent", "Urgent"), ("normal", "Normal"), ("bulk", "Bulk")]),
            ])
    }

    private static let limits = FieldGroup(
        "Limits and reminders",
        [
            .check("at_most_once", "Deliver at most once"),
            .text(
                "kind", "Kind",
                hint: "Such as marketing, for frequency caps. transactional: exempt from them and from quiet hours."
            ),
            .text(
                "throttle", "At most so many devices a minute", hint: "Empty: as fast as it goes.", type: "number"),
            .text(
                "remind_every", "Remind every",
                hint:
                    "Such as PT10M for ten minutes, or P1D for a day: it is sent again to those who have not opened it. Empty: once."
            ),
            .text(
                "remind_times", "At most so many reminders", hint: "Up to 50, in up to seven days.", type: "number"),
            .text(
                "unless_within", "Only if no other push was sent within",
                hint:
                    "Such as P1D before its time: an alarm for a push that did not come. Needs a time, or a repetition."
            ),
            .text("unless_kind", "Of the kind", hint: "Of the push that should have come. Empty: any."),
        ], isFolding: true)

    private func hidden(_ data: FormData) -> [Form.Hidden] {
        var hidden = version
        if !data["exact"].isEmpty { hidden.append(.init(name: "exact", value: "yes")) }
        if isListed(data) { hidden.append(.init(name: "listed", value: data["listed"])) }
        return hidden
    }

    /// The version of the schedule that the form was made of.
    private var version: [Form.Hidden] {
        schedule.map { [.init(name: "version", value: "\($0.version)")] } ?? []
    }

    // MARK: Kinds of platform

    /// Whether the platforms were named one by one, even if all of them.
    private func isListed(_ data: FormData) -> Bool { !data["listed"].isEmpty }

    /// The platforms of the application, and those that the request named.
    private func offeredKinds(_ data: FormData) -> [PlatformKind] {
        (data.list("listed").compactMap(PlatformKind.init(rawValue:)) + kinds).withoutRepeats
    }

    // MARK: From the form to the request

    /// The request that the form asks for, as the admin API takes it. Throws with the name of its field.
    func request(_ form: FormData) throws(InvalidInput) -> JSONValue {
        guard form["mode"] != "json" else { return try Self.json("json", in: form) }
        var members: JSONObject = ["message": try message(form), "target": try target(form)]
        if !form[Self.saved].isEmpty { members["template"] = .string(form[Self.saved]) }
        if !form["urgency"].isEmpty { members["urgency"] = .string(form["urgency"]) }
        if form.isChecked("at_most_once") { members["at_most_once"] = .bool(true) }
        if !form["kind"].isEmpty { members["kind"] = .string(form["kind"]) }
        if !form["throttle"].isEmpty { members["throttle_per_minute"] = .string(form["throttle"]) }
        for (name, fields) in Self.paced {
            var own: JSONObject = [:]
            for (member, field) in fields where !form[field].isEmpty {
                let number = member == "times" ? Int64(form[field]) : nil
                own[member] = number.map(JSONValue.integer) ?? .string(form[field])
            }
            if !own.isEmpty { members[name] = .object(own) }
        }
        let isLocal = form["clock"] == "local" && !form["send_at"].isEmpty
        if isLocal {
            var local: JSONObject = ["local": .string(form["send_at"])]
            if !form["past"].isEmpty { local["past"] = .string(form["past"]) }
            if !form["default_zone"].isEmpty { local["time_zone"] = .string(form["default_zone"]) }
            members["send_at"] = .object(local)
        }
        for name in isLocal ? ["expires_at"] : ["send_at", "expires_at"] {
            if let instant = try form.instant(name) { members[name] = .string(instant.text) }
        }
        members["recurrence"] = try RecurrenceForm.recurrence(form)
        return .object(members)
    }

    /// The fields of the form for the members of these objects.
    private static let paced = [
        ("reminders", [("every", "remind_every"), ("times", "remind_times")]),
        ("unless_sent", [("within", "unless_within"), ("kind", "unless_kind")]),
    ]

    /// Whether there is nothing in it that devices would get: mostly a message that was forgotten.
    func isBlank(_ form: FormData) -> Bool {
        let names =
            [Self.saved, Self.body.name, "title", Self.badge.name, Self.rest.name, Self.whole.name, Self.data.name]
            + groups.flatMap { $0.keys.map(\.name) + $0.rests.map(\.name) }
        return names.allSatisfy { form[$0].isEmpty }
    }

    private static func json(_ name: String, in form: FormData) throws(InvalidInput) -> JSONValue {
        try ComposeKey([], "", .json, name: name).value(in: form) ?? .object([:])
    }

    func message(_ form: FormData) throws(InvalidInput) -> JSONValue {
        var root = JSONValue.object(["message": .object([:])])
        for rest in [Self.whole, Self.rest] + groups.flatMap(\.rests) {
            guard let value = try rest.value(in: form) else { continue }
            let merged = (root.value(at: rest.path) ?? .object([:])).merging(value)
            root = try Self.setting(merged, at: rest.path, named: rest.name, in: root)
        }
        for key in Self.common + groups.flatMap(\.keys) {
            guard let value = try key.value(in: form) else { continue }
            let kept = root.value(at: key.path).map { $0.merging(value) } ?? value
            root = try Self.setting(kept, at: key.path, named: key.name, in: root)
        }
        guard form["exact"].isEmpty else { return root["message"] ?? .object([:]) }
        if let body = root["message"]?["body"]?.stringValue {
            root = root.setting(.string(body.trimmed), at: Self.body.path[...]) ?? root
        }
        return root["message"] ?? .object([:])
    }

    private static func setting(
        _ value: JSONValue, at path: [String], named name: String, in root: JSONValue
    ) throws(InvalidInput) -> JSONValue {
        guard let set = root.setting(value, at: path[...]) else {
            throw InvalidInput(field: name, "has no place: another field says that what it belongs to is no object")
        }
        return set
    }

    private func target(_ form: FormData) throws(InvalidInput) -> JSONValue {
        let audience = form["audience"]
        let names = audience == "users" ? form.lines("names") : form.list("names")
        try Self.checkAudience(audience, form)
        if audience == "json" { return try Self.json("target", in: form) }
        var target: JSONObject = [:]
        if form.isChecked("interactive_only") { target["interactive_only"] = .bool(true) }
        switch audience {
        case "everyone", "", "place": target["everyone"] = .bool(true)
        case "where":
            guard !form["where"].isEmpty else { throw InvalidInput(field: "where", "is empty: choose who gets it") }
            target["where"] = .string(form["where"])
            return .object(target)
        case "segment":
            let name = try Segment.checked(name: form["segment"], field: "segment")
            target["where"] = AudienceExpression.term(.segment(name)).json
            return .object(target)
        case _ where names.isEmpty: throw InvalidInput(field: "names", "is empty: choose who gets it")
        case "users": target["custom_user_ids"] = .strings(names)
        case "devices":
            target["devices"] = .strings(try names.map(Self.uuid))
            return .object(target)
        default:
            target["topics"] = .strings(names)
            let users = form.lines("also_users")
            if !users.isEmpty { target["custom_user_ids"] = .strings(users) }
        }
        let offered = offeredKinds(form)
        guard offered.count > 1 || isListed(form) else { return .object(target) }
        let chosen = offered.filter { form.isChecked("on-\($0.rawValue)") }
        guard !chosen.isEmpty else { throw InvalidInput(field: "audience", "needs at least one platform") }
        if isListed(form) || chosen.count < offered.count {
            target["platforms"] = .strings(chosen.map(\.rawValue))
        }
        return .object(target)
    }

    /// Throws where a field names recipients outside the chosen audience, which would be left out silently.
    private static func checkAudience(_ audience: String, _ form: FormData) throws(InvalidInput) {
        let meant: [(field: String, audiences: [String])] = [
            ("names", ["topics", "users", "devices", "place"]), ("also_users", ["topics"]), ("target", ["json"]),
            ("where", ["where"]),
        ]
        for (field, audiences) in meant where !form[field].isEmpty && !audiences.contains(audience) {
            throw InvalidInput(
                field: field,
                "is filled in, and the audience leaves it out: choose another under To, or empty this field")
        }
    }

    private static func uuid(_ name: String) throws(InvalidInput) -> String {
        guard let uuid = UUID(text: name) else {
            throw InvalidInput(field: "names", "has '\(name.prefix(60))', which is no device UUID")
        }
        return uuid.lowercased
    }

    // MARK: From the request to the form

    /// The fields of the form for a request. They give the same request again, with the spaces around its text.
    func data(of request: PushRequest, sendAt: Instant? = nil, recurring recurrence: Recurrence? = nil) -> FormData {
        let json = request.json(sendAt: sendAt, recurring: recurrence)
        var data = data(of: json)
        if (try? self.request(data))?["message"] != json["message"] { data.put("exact", "yes") }
        return data
    }

    private func data(of json: JSONValue) -> FormData {
        var data = FormData()
        var left: JSONValue? = JSONValue.object(["message": json["message"] ?? .object([:])])
        for key in Self.common + groups.flatMap(\.keys) {
            guard let value = left?.value(at: key.path), let text = key.text(of: value) else { continue }
            data.put(key.name, text)
            left = left?.removing(key.path[...])
        }
        for rest in groups.flatMap(\.rests) {
            guard let value = left?.value(at: rest.path), case .object = value else { continue }
            data.put(rest.name, value.pretty)
            left = left?.removing(rest.path[...])
        }
        if let custom = left?.value(at: Self.rest.path), case .object = custom {
            data.put(Self.rest.name, custom.pretty)
            left = left?.removing(Self.rest.path[...])
        }
        if let message = left?["message"], message != .object([:]) { data.put(Self.whole.name, message.pretty) }
        if let template = json["template"]?.stringValue { data.put(Self.saved, template) }
        show(target: json["target"] ?? .object([:]), in: &data)
        data.put("urgency", json["urgency"]?.stringValue ?? "")
        if json["at_most_once"] == .bool(true) { data.put("at_most_once", "yes") }
        data.put("kind", json["kind"]?.stringValue ?? "")
        data.put("throttle", json["throttle_per_minute"]?.flat ?? "")
        for (name, fields) in Self.paced {
            for (member, field) in fields { data.put(field, json[name]?[member]?.flat ?? "") }
        }
        for name in ["send_at", "expires_at"] {
            let text = json[name]?.stringValue ?? ""
            if let instant = Instant(text: text) { data.put(name, instant) } else { data.put(name, text) }
        }
        if let local = json["send_at"]?["local"]?.stringValue {
            data.put("clock", "local")
            data.put("send_at", local)
            let past = json["send_at"]?["past"]?.stringValue ?? ""
            data.put("past", past == "send" ? "" : past)
            data.put("default_zone", json["send_at"]?["time_zone"]?.stringValue ?? "")
        }
        RecurrenceForm.show(json["recurrence"], in: &data)
        return data
    }

    private func show(target: JSONValue, in data: inout FormData) {
        let (topics, users) = (target["topics"]?.texts ?? [], target["custom_user_ids"]?.texts ?? [])
        let devices = target["devices"]?.texts ?? []
        if target["platforms"] != nil { data.put("listed", (target["platforms"]?.texts ?? []).joined(separator: ",")) }
        let listed = target["platforms"]?.texts
        for kind in offeredKinds(data) where listed?.contains(kind.rawValue) ?? true {
            data.put("on-\(kind.rawValue)", "yes")
        }
        if target["interactive_only"] == .bool(true) { data.put("interactive_only", "yes") }
        if let json = target["where"], target["segments"] == nil,
            let expression = try? AudienceExpression(json: json, field: "where")
        {
            if case .term(.segment(let name)) = expression, segments.contains(name) {
                data.put("audience", "segment")
                data.put("segment", name)
                return
            }
            data.put("audience", "where")
            data.put("where", expression.text)
            return
        }
        let (audience, names) =
            !devices.isEmpty
            ? ("devices", devices)
            : !topics.isEmpty ? ("topics", topics) : !users.isEmpty ? ("users", users) : ("everyone", [])
        data.put("audience", audience)
        data.put("names", ListedNames.write(names))
        if audience == "topics" { data.put("also_users", ListedNames.write(users)) }
        if (try? self.target(data)) != target {
            for field in ["names", "also_users"] { data.put(field, "") }
            data.put("audience", "json")
            data.put("target", target.pretty)
        }
    }

    /// The form's names for fields that errors of a push request name.
    static let names =
        Dictionary(uniqueKeysWithValues: common.map { ("message.\($0.path[1])", $0.name) })
        .merging([
            "target.topics": "names", "target.custom_user_ids": "names", "target.devices": "names", "message": "body",
            "message.custom": "custom", "target": "audience", "target.platforms": "audience",
            "target.where": "where", "template": saved,
            "send_at.local": "send_at", "send_at.past": "past", "send_at.time_zone": "default_zone",
            "throttle_per_minute": "throttle", "reminders": "remind_every", "reminders.every": "remind_every",
            "reminders.times": "remind_times", "unless_sent": "unless_within", "unless_sent.within": "unless_within",
            "unless_sent.kind": "unless_kind",
        ]) { $1 }
        .merging(RecurrenceForm.names) { $1 }
}

extension JSONValue {
    /// The texts of an array of nothing else; nil for anything else.
    fileprivate var texts: [String]? {
        guard case .array(let elements) = self else { return nil }
        let texts = elements.compactMap(\.stringValue)
        return texts.count == elements.count ? texts : nil
    }
}
