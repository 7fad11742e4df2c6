import BelfryService

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
        let text = form.raw(name).replacing("\r\n", with: "\n")
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
        guard case .object = value else {
            throw InvalidInput(field: name, "has to be an object, it is \(value.typeName)")
        }
        return value
    }
}
