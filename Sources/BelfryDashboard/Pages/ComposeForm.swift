import BelfryCore
import FoundationEssentials

/// The form in which a push is written, and the push request that it stands for.
struct ComposeForm: Sendable {
    /// The kinds of platform that a push may be narrowed down to.
    let kinds: [PlatformKind]

    /// - Parameter platforms: of the application.
    init(_ platforms: [Platform]) {
        let present = Set(platforms.map(\.kind))
        kinds = PlatformKind.allCases.filter(present.contains)
    }

    func form(_ application: Application, _ earlier: PushRequest? = nil) -> Form {
        let target = earlier?.target
        let audience =
            target.map { target in
                target.devices != nil
                    ? "devices"
                    : !target.topics.isEmpty ? "topics" : !target.customUserIDs.isEmpty ? "users" : "everyone"
            } ?? "everyone"
        let names =
            target.map { $0.devices?.map(\.lowercased) ?? ($0.topics.isEmpty ? $0.customUserIDs : $0.topics) } ?? []
        let content =
            earlier.map { $0.content.custom.isEmpty ? "" : JSONValue.object($0.content.custom).storedText } ?? ""
        var fields: [Field] = [
            .area("body", "Message", earlier?.content.body ?? "", placeholder: "What people read"),
            .text("title", "Title", hint: "Where the platform shows one."),
            .text("link", "Link", hint: "Goes to the app as link.", type: "url", placeholder: "https://"),
            .text("sound", "Sound", hint: "iOS: default, or a file of the app."),
            .text("badge", "Badge", hint: "iOS: the number on the app's icon."),
            .select(
                "audience", "To", audience,
                [
                    ("everyone", "Everyone"), ("topics", "Subscribers of topics"), ("users", "Users"),
                    ("devices", "Devices"),
                ]),
            .select(
                "urgency", "Urgency", earlier?.lane?.word ?? "",
                [("", "By the size of the audience"), ("urgent", "Urgent"), ("normal", "Normal"), ("bulk", "Bulk")]),
            .area(
                "names", "Which topics, users or devices", names.joined(separator: "\n"),
                hint: "One a line, or with commas between them: topic names, custom user ids or device UUIDs."),
        ]
        if kinds.count > 1 {
            fields += kinds.map { kind in
                .check("on-\(kind.rawValue)", "On \(kind.title)", target?.platforms?.contains(kind) ?? true)
            }
        }
        fields += [
            .text("send_at", "Send at", hint: "UTC. Empty: now.", type: "datetime-local"),
            .text("expires_at", "Expires at", hint: "UTC. Empty: the provider decides.", type: "datetime-local"),
            .check("at_most_once", "Rather lose it than deliver it twice", earlier?.guarantee == .atMostOnce),
            .area(
                "custom", "Content for single platforms (JSON)", content,
                hint:
                    #"As the API takes it, such as {"ios":{"category":"news"}}. Fields above are added where it has none."#,
                isMono: true),
        ]
        var form = Form(Address.of(application, "compose"), "Review", fields)
        form.isWide = true
        return form
    }

    /// What the form says. Throws with the name of its field.
    func pushRequest(_ form: FormData) throws(InvalidInput) -> PushRequest {
        let content = try content(form)
        guard content.body != nil || !form["custom"].isEmpty else {
            throw InvalidInput(field: "body", "is empty, and there is no content for single platforms")
        }
        return PushRequest(
            content: content, target: try target(form), lane: Self.lane(form["urgency"]),
            guarantee: form.isChecked("at_most_once") ? .atMostOnce : .atLeastOnce,
            expiresAt: try Self.instant(form, "expires_at"))
    }

    func sendAt(_ form: FormData) throws(InvalidInput) -> Instant? { try Self.instant(form, "send_at") }

    private static func lane(_ text: String) -> Lane? { Lane.allCases.first { $0.word == text } }

    private static func instant(_ form: FormData, _ name: String) throws(InvalidInput) -> Instant? {
        let text = form[name]
        guard !text.isEmpty else { return nil }
        let seconds = text.utf8.count == 16 ? ":00Z" : "Z"
        guard let instant = Instant(text: text.replacing(" ", with: "T") + seconds) else {
            throw InvalidInput(field: name, "has to be a time such as 2026-01-31T08:30")
        }
        return instant
    }

    private func content(_ form: FormData) throws(InvalidInput) -> Push.Content {
        var custom: [String: JSONValue] = [:]
        if !form["custom"].isEmpty {
            guard case .object(let members) = try JSONValue(json: form["custom"].utf8, field: "custom") else {
                throw InvalidInput(field: "custom", "has to be an object with a member for each platform")
            }
            custom = members
        }
        try addApple(form, to: &custom)
        addData(form, to: &custom)
        let body = form.raw("body").trimmed
        return Push.Content(body: body.isEmpty ? nil : body, custom: custom)
    }

    private func addApple(_ form: FormData, to custom: inout [String: JSONValue]) throws(InvalidInput) {
        guard kinds.contains(where: \.isApple) else { return }
        var ios: [String: JSONValue] = [:]
        if case .object(let members)? = custom["ios"] { ios = members }
        if ios["alert"] == nil, !form["title"].isEmpty {
            ios["alert"] = .object(["title": .string(form["title"]), "body": .string(form["body"])])
        }
        if ios["sound"] == nil, !form["sound"].isEmpty { ios["sound"] = .string(form["sound"]) }
        if ios["badge"] == nil, !form["badge"].isEmpty {
            guard let badge = Int64(form["badge"]), badge >= 0 else {
                throw InvalidInput(field: "badge", "has to be a whole number from 0")
            }
            ios["badge"] = .integer(badge)
        }
        if ios["extra"] == nil, !form["link"].isEmpty { ios["extra"] = .object(["link": .string(form["link"])]) }
        if !ios.isEmpty { custom["ios"] = .object(ios) }
    }

    /// Title and link, as data that apps read.
    private func addData(_ form: FormData, to custom: inout [String: JSONValue]) {
        for key in ["android", "web"]
        where kinds.contains(where: { key == "web" ? $0 == .web : !$0.isApple && $0 != .web && $0 != .webhook }) {
            var members: [String: JSONValue] = [:]
            if case .object(let given)? = custom[key] { members = given }
            for name in ["title", "link"] where members[name] == nil && !form[name].isEmpty {
                members[name] = .string(form[name])
            }
            if !members.isEmpty { custom[key] = .object(members) }
        }
    }

    private func target(_ form: FormData) throws(InvalidInput) -> Target {
        let names = form.list("names")
        let audience = form["audience"]
        guard audience == "everyone" || !names.isEmpty else {
            throw InvalidInput(field: "names", "is empty: who is meant?")
        }
        guard audience != "devices" else {
            var devices: [UUID] = []
            for name in names {
                guard let uuid = UUID(uuidString: name) else {
                    throw InvalidInput(field: "names", "has '\(name)', which is no device UUID")
                }
                devices.append(uuid)
            }
            return try Target(devices: devices)
        }
        let chosen = kinds.filter { form.isChecked("on-\($0.rawValue)") }
        guard kinds.count < 2 || !chosen.isEmpty else {
            throw InvalidInput(field: "audience", "needs at least one platform")
        }
        return try Target(
            topics: audience == "topics" ? names : [], customUserIDs: audience == "users" ? names : [],
            platforms: kinds.count < 2 || chosen.count == kinds.count ? nil : chosen)
    }

    /// What faults of a push request are called in the form.
    static let names = [
        "target.topics": "names", "target.custom_user_ids": "names", "target.devices": "names", "message": "body",
        "message.custom": "custom", "target": "audience",
    ]
}
