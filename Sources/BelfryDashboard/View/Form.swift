/// A form: its fields with the typed values, and errors at their fields.
package struct Form: Sendable {
    package let action: String
    package var submit: String
    package var fields: [Field]
    /// Fields under headings of their own, after those above.
    package var groups: [FieldGroup] = []
    /// Whether the fields and groups are folded away, under this name.
    package var foldedAs: String?
    /// Groups before the buttons, outside the part that is folded away.
    package var lastGroups: [FieldGroup] = []
    package var hidden: [Hidden] = []
    /// Buttons beside the main one; each names an `action` of the form.
    package var others: [Submit] = []
    package var problem = ""
    /// The address that keeps typed values until they are sent; empty for most forms.
    package var draft = ""
    package var isGet = false
    package var isMultipart = false
    package var isDanger = false
    /// Whether another button is the main one.
    package var isQuiet = false
    package var isInline = false
    package var isFilter = false
    /// Whether its fields stand beside one another where there is room.
    package var isWide = false

    package struct Hidden: Sendable {
        package let name: String
        package let value: String
    }

    package struct Submit: Sendable {
        package let name: String
        package let value: String
        package let label: String
        package var isMain = false
    }

    package init(_ action: String, _ submit: String, _ fields: [Field] = []) {
        self.action = action
        self.submit = submit
        self.fields = fields
    }

    /// A form of one button.
    package static func button(_ action: String, _ label: String, isDanger: Bool = false) -> Form {
        var form = Form(action, label)
        form.isInline = true
        form.isDanger = isDanger
        return form
    }

    /// A form whose fields are the query of the page.
    package static func filter(_ action: String, _ fields: [Field], _ submit: String = "Filter") -> Form {
        var form = Form(action, submit, fields)
        form.isGet = true
        form.isFilter = true
        return form
    }

    /// Fills in typed values, except passwords and files.
    package mutating func keep(_ data: FormData) {
        for index in fields.indices { fields[index].keep(data) }
        for index in groups.indices { groups[index].keep(data) }
        for index in lastGroups.indices { lastGroups[index].keep(data) }
    }

    /// Shows a fault at its field, or above the form when no field has the name.
    ///
    /// - Parameter names: other names that the fault may have for a field.
    package mutating func show(_ problem: String, at field: String, names: [String: String] = [:]) {
        for part in Self.parts(of: field) {
            for name in [names[part], part].compactMap(\.self) {
                // What stands there names a member of the field's value.
                let words = part == field || names[field] != nil ? problem : "\(field) \(problem)"
                if fields.show(words, at: name) || groups.show(words, at: name) || lastGroups.show(words, at: name) {
                    return
                }
            }
        }
        self.problem = field.isEmpty ? problem : "\(field) \(problem)"
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
package struct FieldGroup: Sendable {
    package let title: String
    package let text: String
    package var fields: [Field]
    package let isFolding: Bool
    /// The number of filled fields, in words; empty for none.
    package private(set) var filled = ""
    package private(set) var isOpen = false

    /// - Parameter isFolding: whether it is folded away while all its fields are empty.
    package init(_ title: String, text: String = "", _ fields: [Field], isFolding: Bool = false) {
        self.title = title
        self.text = text
        self.fields = fields
        self.isFolding = isFolding
    }

    fileprivate mutating func keep(_ data: FormData) {
        for index in fields.indices { fields[index].keep(data) }
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
        self[index].isWrong = true
        return true
    }
}

/// One field of a form.
package struct Field: Sendable {
    package let name: String
    package let label: String
    package var value: String
    package var hint = ""
    package var problem = ""
    package var isWrong = false
    package var isRequired = false
    package var type = "text"
    package var autocomplete = "off"
    package var options: [Option] = []
    package var placeholder = ""
    package var accept = ""
    package var isText = false
    package var isArea = false
    package var isSelect = false
    package var isCheck = false
    package var isFile = false
    package var isChecked = false
    package var isFocused = false
    package var isMono = false

    package struct Option: Sendable {
        package let value: String
        package let label: String
        package var isSelected: Bool
    }

    private init(_ name: String, _ label: String, _ value: String) {
        self.name = name
        self.label = label
        self.value = value
    }

    package static func text(
        _ name: String, _ label: String, _ value: String = "", hint: String = "", isRequired: Bool = false,
        type: String = "text", autocomplete: String = "off", placeholder: String = ""
    ) -> Field {
        var field = Field(name, label, value)
        (field.isText, field.hint, field.isRequired, field.type) = (true, hint, isRequired, type)
        (field.autocomplete, field.placeholder) = (autocomplete, placeholder)
        return field
    }

    package static func area(
        _ name: String, _ label: String, _ value: String = "", hint: String = "", isRequired: Bool = false,
        placeholder: String = "", isMono: Bool = false
    ) -> Field {
        var field = Field(name, label, value)
        (field.isArea, field.hint, field.isRequired) = (true, hint, isRequired)
        (field.placeholder, field.isMono) = (placeholder, isMono)
        return field
    }

    package static func select(
        _ name: String, _ label: String, _ value: String = "", _ options: [(String, String)], hint: String = ""
    ) -> Field {
        var field = Field(name, label, value)
        (field.isSelect, field.hint) = (true, hint)
        field.options = options.map { Option(value: $0.0, label: $0.1, isSelected: $0.0 == value) }
        return field
    }

    package static func check(_ name: String, _ label: String, _ isChecked: Bool = false, hint: String = "") -> Field {
        var field = Field(name, label, "yes")
        (field.isCheck, field.isChecked, field.hint) = (true, isChecked, hint)
        return field
    }

    package static func file(
        _ name: String, _ label: String, accept: String = "", hint: String = "", isRequired: Bool = false
    ) -> Field {
        var field = Field(name, label, "")
        (field.isFile, field.accept, field.hint, field.isRequired) = (true, accept, hint, isRequired)
        return field
    }

    /// Whether a typed value is never shown again.
    package var isSecret: Bool { type == "password" || autocomplete == "one-time-code" }

    package var focused: Field {
        var field = self
        field.isFocused = true
        return field
    }

    fileprivate mutating func keep(_ data: FormData) {
        if isCheck {
            isChecked = !data[name].isEmpty
        } else if !isFile && !isSecret {
            value = isArea ? data.raw(name) : data[name]
            for index in options.indices { options[index].isSelected = options[index].value == value }
        }
    }
}
