/// A form: its fields with what was typed, and what is wrong at which.
package struct Form: Sendable {
    package let action: String
    package let submit: String
    package var fields: [Field]
    package var hidden: [Hidden] = []
    /// Beside the main one; each names an `action` of the form.
    package var others: [Submit] = []
    package var problem = ""
    package var isGet = false
    package var isMultipart = false
    package var isDanger = false
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

    /// Fills in what was typed, but for passwords and files.
    package mutating func keep(_ data: FormData) {
        for index in fields.indices { fields[index].keep(data) }
    }

    /// Shows a fault at its field, or above the form when no field has the name.
    ///
    /// - Parameter names: other names that the fault may have for a field.
    package mutating func show(_ problem: String, at field: String, names: [String: String] = [:]) {
        let first = String(field.prefix { $0 != "." && $0 != "[" })
        let candidates = [names[field], field, names[first], first].compactMap(\.self)
        for name in candidates {
            if let index = fields.firstIndex(where: { $0.name == name }) {
                fields[index].problem = problem
                fields[index].isWrong = true
                return
            }
        }
        self.problem = field.isEmpty ? problem : "\(field) \(problem)"
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

    package var focused: Field {
        var field = self
        field.isFocused = true
        return field
    }

    fileprivate mutating func keep(_ data: FormData) {
        if isCheck {
            isChecked = !data[name].isEmpty
        } else if !isFile && type != "password" {
            value = data[name]
            for index in options.indices { options[index].isSelected = options[index].value == value }
        }
    }
}
