/// The required shape of a JSON value, as protocol buffers in JSON are read: absent and null are the same, names are in
/// snake case or in camel case.
indirect enum JSONShape: Sendable {
    case string
    case bool
    case integer
    case number
    /// Seconds with at most nine decimal places, and an `s`.
    case duration
    case oneOf(Set<String>)
    case strings
    /// String to string.
    case texts
    case list(JSONShape)
    /// Any object.
    case anything
    case object([String: JSONShape])

    /// The fault and its path; nil when there is none.
    func complaint(about value: JSON, at path: String = "") -> (field: String, message: String)? {
        if value == .null { return nil }
        switch self {
        case .string: return value.string == nil ? Self.wrong(path, "TYPE_STRING") : nil
        case .bool: return value.bool == nil ? Self.wrong(path, "TYPE_BOOL") : nil
        case .integer:
            return value.integer ?? value.string.flatMap(Int64.init) == nil ? Self.wrong(path, "TYPE_INT32") : nil
        case .number:
            if case .number = value { return nil }
            return Self.wrong(path, "TYPE_FLOAT")
        case .duration:
            guard let text = value.string, Self.seconds(text) != nil else {
                return Self.wrong(path, "type.googleapis.com/google.protobuf.Duration")
            }
            return nil
        case .oneOf(let words):
            guard let word = value.string, words.contains(word.uppercased()) else { return Self.wrong(path, "enum") }
            return nil
        case .strings: return Self.list(.string, value, path)
        case .list(let shape): return Self.list(shape, value, path)
        case .texts: return Self.texts(value, path)
        case .anything: return value.members == nil ? Self.wrong(path, "TYPE_MESSAGE") : nil
        case .object(let shapes): return Self.object(shapes, value, path)
        }
    }

    /// The seconds of a duration; nil when it is malformed. Source: the JSON form of google.protobuf.Duration.
    static func seconds(_ text: String) -> Double? {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            parts.count < 2 || parts[1].count <= 9
        else { return nil }
        return Double(text.dropLast())
    }

    private static func wrong(_ path: String, _ type: String) -> (field: String, message: String) {
        (path, "Invalid value at '\(path)' (\(type))")
    }

    private static func list(_ shape: JSONShape, _ value: JSON, _ path: String) -> (field: String, message: String)? {
        guard let values = value.array else { return wrong(path, "TYPE_LIST") }
        for (index, value) in values.enumerated() {
            if let complaint = shape.complaint(about: value, at: "\(path)[\(index)]") { return complaint }
        }
        return nil
    }

    private static func texts(_ value: JSON, _ path: String) -> (field: String, message: String)? {
        guard let members = value.members else { return wrong(path, "TYPE_MESSAGE") }
        for (index, member) in members.enumerated() where member.value.string == nil {
            return wrong("\(path)[\(index)].value", "TYPE_STRING")
        }
        return nil
    }

    private static func object(
        _ shapes: [String: JSONShape], _ value: JSON, _ path: String
    ) -> (field: String, message: String)? {
        guard let members = value.members else { return wrong(path, "TYPE_MESSAGE") }
        for member in members {
            guard let shape = shapes[member.key] ?? shapes[snakeCase(member.key)] else {
                let place = path.isEmpty ? "" : " at '\(path)'"
                let message =
                    #"Invalid JSON payload received. Unknown name "\#(member.key)"\#(place): Cannot find field."#
                return (path, message)
            }
            let inner = path.isEmpty ? member.key : "\(path).\(member.key)"
            if let complaint = shape.complaint(about: member.value, at: inner) { return complaint }
        }
        return nil
    }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
