/// A form: its fields with the typed values, and errors at their fields.
struct Form: Component {
    let action: String
    var submit: String
    var fields: [Field]
    /// Fields under headings of their own, after those above.
    var groups: [FieldGroup] = []
    /// Whether the fields and groups are folded away, under this name.
    var foldedAs: String?
    /// Groups before the buttons, outside the part that is folded away.
    var lastGroups: [FieldGroup] = []
    var hidden: [Hidden]
    /// Buttons beside the main one; each names an `action` of the form.
    var others: [Submit] = []
    var problem = ""
    /// The address that keeps typed values until they are sent; empty for most forms.
    var draft = ""
    /// The address that tells what the form would do, which a script shows beside it; empty for most forms. A folded form has nothing beside.
    var aside = ""
    var layout = Layout.column
    var isMultipart: Bool
    let isDanger: Bool
    /// Whether another button is the main one.
    var isQuiet = false

    enum Layout: String, Sendable {
        case column
        /// Fields stand beside one another where there is room.
        case wide
        /// A button, or little more, on a line.
        case inline
        /// The fields are the query of the page.
        case filter
    }

    struct Hidden: Component {
        let name: String
        var value: String

        var content: [any HTML] { Tag("input", ["type": "hidden", "name": name, "value": value]) }
    }

    struct Submit: Component {
        let name: String
        let value: String
        let label: String
        var isMain = false

        var content: [any HTML] {
            Tag("button", ["class": isMain ? "main" : nil, "name": name, "value": value], label)
        }
    }

    init(
        _ action: String, _ submit: String, _ fields: [Field] = [], hidden: [Hidden] = [], isMultipart: Bool = false,
        isDanger: Bool = false
    ) {
        (self.action, self.submit, self.fields, self.hidden) = (action, submit, fields, hidden)
        (self.isMultipart, self.isDanger) = (isMultipart, isDanger)
    }

    /// A form of one button.
    static func button(_ action: String, _ label: String, isDanger: Bool = false) -> Form {
        var form = Form(action, label, isDanger: isDanger)
        form.layout = .inline
        return form
    }

    /// A form whose fields are the query of the page: in one row, and those that have no room there folded away.
    static func filter(_ action: String, _ fields: [Field], _ submit: String = "Filter") -> Form {
        let isLong = fields.count > filtersMax
        var form = Form(action, submit, isLong ? Array(fields.prefix(filtersMax - 1)) : fields)
        if isLong {
            var more = FieldGroup("More filters", Array(fields.dropFirst(filtersMax - 1)), isFolding: true)
            more.countFilled()
            form.groups = [more]
        }
        form.layout = .filter
        return form
    }

    /// The most fields in a row.
    private static let filtersMax = 5

    var content: [any HTML] {
        let isQuery = layout == .filter
        let isBeside = !aside.isEmpty && foldedAs == nil
        Tag(
            "form",
            [
                "class": classes("form", isBeside ? "with-aside" : layout == .column ? nil : layout.rawValue),
                "action": action,
                "method": isQuery ? "get" : "post", "enctype": isMultipart ? "multipart/form-data" : nil,
                "novalidate": !isQuery, "data-draft": draft.isEmpty ? nil : draft,
            ]
        ) {
            if !isQuery { Tokens() }
            hidden
            Tag("p", ["class": "problem", "role": "alert"], problem)
            if let foldedAs {
                Tag("details", ["class": "group"]) {
                    Tag("summary", foldedAs)
                    Tag("div", ["class": "form wide"]) {
                        fields
                        groups
                    }
                }
            } else if isBeside {
                Tag("div", ["class": "form wide"]) {
                    fields
                    groups
                }
            } else {
                fields
                groups
            }
            lastGroups
            if isBeside {
                Tag("div", ["class": "beside", "data-aside": aside]) {
                    Tag("div", ["role": "status"])
                    buttons
                    Tag("div")
                    Tag("div")
                }
            } else {
                buttons
            }
        }
    }

    private var buttons: Tag {
        let isMain = (layout == .column || layout == .wide) && !isQuiet
        return Tag("div", ["class": "row"]) {
            Tag("button", ["class": isDanger ? "danger" : isMain ? "main" : nil], submit)
            others
        }
    }

    /// The hidden fields that every posted form has of its page.
    private struct Tokens: HTML {
        func write(to page: inout HTMLWriter) {
            let shell = page.shell
            page.write([Hidden(name: "csrf", value: shell.csrf)])
            guard !shell.key.isEmpty else { return }
            page.write([
                Hidden(name: SingleUse.field, value: shell.key), Hidden(name: HeldForm.pageField, value: shell.page),
                Hidden(name: HeldForm.proofField, value: shell.proof),
            ])
        }
    }

    /// Fills in typed values, except passwords.
    ///
    /// - Parameter file: the file that was chosen in a field, where it is kept.
    mutating func keep(_ data: FormData, file: (String) -> KeptFile? = { _ in nil }) {
        for index in fields.indices { fields[index].keep(data, file) }
        for index in groups.indices { groups[index].keep(data, file) }
        for index in lastGroups.indices { lastGroups[index].keep(data, file) }
    }

    /// Shows a fault at its field, or above the form when no field has the name.
    ///
    /// - Parameter names: other names that the fault may have for a field.
    mutating func show(_ problem: String, at field: String, names: [String: String] = [:]) {
        let problem = labelled(problem)
        for part in Self.parts(of: field) {
            for name in [names[part], part].compactMap(\.self) {
                // What stands there names a member of the field's value.
                let words = part == field || names[field] != nil ? problem : "\(field) \(problem)"
                if fields.show(words, at: name) || groups.show(words, at: name) || lastGroups.show(words, at: name) {
                    return
                }
            }
        }
        self.problem = field.isEmpty ? problem : "\(Self.words(for: field)) \(problem)"
    }

    /// The name of a field that no form has, as people read it: `message.web.app_badge` is “Message › web › app badge”.
    private static func words(for field: String) -> String {
        let words = field.replacing("_", with: " ").replacing(".", with: " › ")
        return "“\(words.prefix(1).uppercased())\(words.dropFirst())”"
    }

    /// A problem with labels in place of those names of fields that only APIs have, and times by the viewer's clock.
    private func labelled(_ problem: String) -> String {
        let all = fields + (groups + lastGroups).flatMap(\.fields)
        let labels = Dictionary(all.map { ($0.name, $0.label) }) { first, _ in first }
        return problem.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let parts = word.split(separator: "Z", maxSplits: 1, omittingEmptySubsequences: false)
            // An example of a time has no milliseconds.
            if parts.count == 2, let time = Instant(text: "\(parts[0])Z"), time.text == "\(parts[0])Z" {
                return "\(time.minute)\(parts[1])"
            }
            let name = word.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
            guard name.contains("_"), let label = labels[String(name)] else { return String(word) }
            return "“\(label)”\(word[name.endIndex...])"
        }.joined(separator: " ")
    }

    /// The path of a value, and then the paths that enclose it. A path may have names of the sender's own, of any length.
    private static func parts(of field: String) -> [String] {
        var parts = [field]
        var rest = field.prefix(200)
        while let end = rest.lastIndex(where: { $0 == "." || $0 == "[" }) {
            rest = rest[..<end]
            parts.append(String(rest))
        }
        return parts
    }
}

/// Fields of a form under a heading.
struct FieldGroup: Component {
    let title: String
    let text: String
    var fields: [Field]
    let isFolding: Bool
    /// The number of filled fields, in words; empty for none.
    private(set) var filled = ""
    private(set) var isOpen = false

    var content: [any HTML] {
        if isFolding {
            Tag("details", ["class": "group", "open": isOpen]) {
                Tag("summary") {
                    "\(title) "
                    Tag("small", filled)
                }
                inside
            }
        } else {
            Tag("fieldset", ["class": "group"]) {
                Tag("legend", title)
                inside
            }
        }
    }

    @HTMLBuilder private var inside: [any HTML] {
        Tag("p", ["class": "hint"], text)
        Tag("div", ["class": "form wide"]) { fields }
    }

    /// - Parameter isFolding: whether it is folded away while all its fields are empty.
    init(_ title: String, text: String = "", _ fields: [Field], isFolding: Bool = false) {
        self.title = title
        self.text = text
        self.fields = fields
        self.isFolding = isFolding
    }

    fileprivate mutating func keep(_ data: FormData, _ file: (String) -> KeptFile?) {
        for index in fields.indices { fields[index].keep(data, file) }
        countFilled()
    }

    fileprivate mutating func countFilled() {
        let count = fields.count { $0.isCheck ? $0.isChecked : !$0.value.isEmpty }
        filled = count == 0 ? "" : "\(count) set"
        isOpen = count > 0
    }

    fileprivate mutating func show(_ problem: String, at name: String) -> Bool {
        guard fields.show(problem, at: name) else { return false }
        isOpen = true
        return true
    }
}

extension [FieldGroup] {
    fileprivate mutating func show(_ problem: String, at name: String) -> Bool {
        for index in indices where self[index].show(problem, at: name) { return true }
        return false
    }
}

extension [Field] {
    /// Returns false when no field has the name.
    fileprivate mutating func show(_ problem: String, at name: String) -> Bool {
        guard let index = firstIndex(where: { $0.name == name }) else { return false }
        self[index].problem = problem
        return true
    }
}

struct Field: Component {
    let name: String
    let label: String
    var value: String
    let kind: Kind
    private(set) var isChecked = false
    let hint: String
    private var placeholder = ""
    private(set) var isRequired = false
    fileprivate(set) var problem = ""
    private var kept: KeptFile?
    private var isFocused = false
    private var choices: String?
    /// The name of the time zone by whose clocks the value is.
    private var zone: String?
    /// The time that the value shows.
    private var shown: Instant?

    enum Kind: Sendable {
        case text(type: String, autocomplete: String)
        case area(isMono: Bool)
        case select([(value: String, label: String)])
        case check
        case file(accept: String)
    }

    static func text(
        _ name: String, _ label: String, _ value: String = "", hint: String = "", isRequired: Bool = false,
        type: String = "text", autocomplete: String = "off", placeholder: String = ""
    ) -> Field {
        Field(
            name: name, label: label, value: value, kind: .text(type: type, autocomplete: autocomplete), hint: hint,
            placeholder: placeholder, isRequired: isRequired)
    }

    /// A time by the viewer's clock. It stays by that clock, which a hidden field names, when the form is shown again.
    static func time(
        _ name: String, _ label: String, _ instant: Instant? = nil, hint: String = "", isRequired: Bool = false
    ) -> Field {
        var field = Field.text(
            name, label, instant?.fieldText ?? "", hint: hint, isRequired: isRequired, type: "datetime-local")
        (field.zone, field.shown) = (Viewer.current.zone.name, instant)
        return field
    }

    static func area(
        _ name: String, _ label: String, _ value: String = "", hint: String = "", isRequired: Bool = false,
        placeholder: String = "", isMono: Bool = false
    ) -> Field {
        Field(
            name: name, label: label, value: value, kind: .area(isMono: isMono), hint: hint, placeholder: placeholder,
            isRequired: isRequired)
    }

    static func select(
        _ name: String, _ label: String, _ value: String = "", _ options: [(String, String)], hint: String = ""
    ) -> Field {
        Field(name: name, label: label, value: value, kind: .select(options), hint: hint)
    }

    static func check(_ name: String, _ label: String, _ isChecked: Bool = false, hint: String = "") -> Field {
        Field(name: name, label: label, value: "yes", kind: .check, isChecked: isChecked, hint: hint)
    }

    static func file(
        _ name: String, _ label: String, accept: String = "", hint: String = "", isRequired: Bool = false
    ) -> Field {
        Field(name: name, label: label, value: "", kind: .file(accept: accept), hint: hint, isRequired: isRequired)
    }

    var isCheck: Bool { if case .check = kind { true } else { false } }
    var isFile: Bool { if case .file = kind { true } else { false } }
    var isWrong: Bool { !problem.isEmpty }
    private var isArea: Bool { if case .area = kind { true } else { false } }

    /// Whether a typed value is never shown again.
    var isSecret: Bool {
        guard case .text(let type, let autocomplete) = kind else { return false }
        return type == "password" || autocomplete == "one-time-code"
    }

    /// This field for some choices of another alone: with a script it is hidden otherwise, and not sent.
    func only(for name: String, _ choices: [String]) -> Field {
        var field = self
        field.choices = ([name] + choices).joined(separator: " ")
        return field
    }

    var focused: Field {
        var field = self
        field.isFocused = true
        return field
    }

    fileprivate mutating func keep(_ data: FormData, _ file: (String) -> KeptFile?) {
        if isCheck {
            isChecked = !data[name].isEmpty
        } else if isFile {
            kept = file(name)
        } else if !isSecret {
            value = isArea ? data.raw(name) : data[name]
            guard zone != nil else { return }
            (zone, shown) = (data.zone.name, Instant(text: data.raw(FormData.shownField(of: name))))
        }
    }

    var content: [any HTML] {
        Tag(
            "div",
            [
                "class": classes("field", isCheck ? "check" : nil, isArea ? "area" : nil, isWrong ? "wrong" : nil),
                "data-only": choices,
            ]
        ) {
            Tag("label") {
                if isCheck {
                    input
                    " \(label)"
                } else {
                    Tag("span") {
                        label
                        if isRequired {
                            " "
                            Tag("b", ["title": "required"], "*")
                        }
                    }
                    input
                }
            }
            Tag("p", ["class": "fault"], problem)
            kept?.box(name)
            Tag("p", ["class": "hint"], (zone.map { "Time zone: \($0). " } ?? "") + hint)
            if let zone { Form.Hidden(name: FormData.zoneField, value: zone) }
            if let shown { Form.Hidden(name: FormData.shownField(of: name), value: shown.text) }
        }
    }

    private var input: Tag {
        let invalid = isWrong ? "true" : nil
        return switch kind {
        case .text(let type, let autocomplete):
            Tag(
                "input",
                [
                    "type": type, "name": name, "value": value, "autocomplete": autocomplete,
                    "placeholder": placeholder, "required": isRequired, "aria-invalid": invalid,
                    "autofocus": isFocused, "dir": "auto",
                ])
        case .area(let isMono):
            // A browser leaves the first line break out.
            Tag(
                "textarea",
                [
                    "name": name, "rows": 3, "placeholder": placeholder, "required": isRequired,
                    "aria-invalid": invalid, "class": isMono ? "mono" : nil, "spellcheck": isMono ? "false" : nil,
                    "dir": "auto",
                ], "\n\(value)")
        case .select(let options):
            Tag("select", ["name": name, "aria-invalid": invalid]) {
                options.map { Tag("option", ["value": $0.value, "selected": $0.value == value], $0.label) }
            }
        case .check: Tag("input", ["type": "checkbox", "name": name, "value": "yes", "checked": isChecked])
        case .file(let accept):
            Tag(
                "input",
                ["type": "file", "name": name, "accept": accept, "required": isRequired, "aria-invalid": invalid])
        }
    }
}

extension Form {
    private static let seen = "seen"

    /// This form with a digest of what it shows now, which comes back when it is posted. `DashboardRequest.trying` compares it with what the form
    /// would show then, so that a person overwrites only what they have seen.
    var guarded: Form {
        let shown = fields.map { "\($0.name)=\($0.isCheck ? String($0.isChecked) : $0.value)" }
        let digest = SecretHash.of(shown.joined(separator: "\u{0}")).prefix(16)
        return guarded(by: Array(digest).hex)
    }

    /// This form with the entity tag of its thing. Fields that offer things which others may add are not compared.
    func guarded(by tag: Admin.EntityTag) -> Form { guarded(by: tag.text.filter { $0 != "\"" }) }

    /// - Parameter seen: a digest of what the form concerns.
    func guarded(by seen: String) -> Form {
        var form = self
        form.hidden.append(Hidden(name: Self.seen, value: seen))
        return form
    }

    /// Keeps the marks of what the person saw, so that a change since then is noticed when the form is posted again.
    mutating func keepMarks(of posted: FormData) {
        for index in hidden.indices where [Self.seen, "version"].contains(hidden[index].name) {
            let mark = posted.raw(hidden[index].name)
            if !mark.isEmpty { hidden[index].value = mark }
        }
    }

    /// Throws when the posted form showed something else than this one, which is made of what is stored now.
    func demandUnchanged(since posted: FormData) throws(EditConflict) {
        let seen = posted.raw(Self.seen)
        guard let now = hidden.first(where: { $0.name == Self.seen }), !seen.isEmpty else { return }
        guard seen == now.value else { throw EditConflict() }
    }

    /// Keeps what was typed, and says what is stored now where that differs.
    mutating func showConflict(with posted: FormData) {
        let stored = (fields + groups.flatMap(\.fields)).filter { field in
            field.isCheck ? field.isChecked == posted[field.name].isEmpty : field.value != posted[field.name]
        }.map { field in
            "\(field.label): " + (field.isCheck ? (field.isChecked ? "on" : "off") : "\u{201c}\(field.value)\u{201d}")
        }
        keep(posted)
        problem =
            "Somebody else has changed this since you loaded the page. "
            + (stored.isEmpty ? "" : "Stored now: \(stored.joined(separator: "; ")). ")
            + "Save again to put yours in its place."
    }
}
