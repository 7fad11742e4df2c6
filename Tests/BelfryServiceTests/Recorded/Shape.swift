import FoundationEssentials

/// The shape that an answer needs for the programs that read it.
indirect enum Shape: Sendable {
    case string, integer, number, bool, null, uuid
    /// Milliseconds since 1970, as a whole number.
    case time
    case word([String])
    case array(Shape)
    /// An object with these keys and none besides, but for the optional ones.
    case object([String: Shape], optional: [String: Shape] = [:])
    /// An object of any keys.
    case map(Shape)
    case either(Shape, Shape)
    case anything

    static func orNull(_ shape: Shape) -> Shape { .either(shape, .null) }

    /// Deviations from the shape, each in a sentence that names the place.
    func faults(in json: StrictJSON?, at place: String = "the answer") -> [String] {
        guard let json else { return ["\(place) is missing"] }
        switch (self, json) {
        case (.string, .string), (.integer, .integer), (.number, .number), (.number, .integer), (.bool, .bool),
            (.null, .null), (.anything, _):
            return []
        case (.uuid, .string(let text)) where UUID(uuidString: text) != nil && text == text.lowercased(): return []
        case (.time, .integer(let time)) where time >= 0: return []
        case (.word(let words), .string(let text)) where words.contains(text): return []
        case (.array(let shape), .array(let elements)):
            return elements.enumerated().flatMap { shape.faults(in: $1, at: "\(place)[\($0)]") }
        case (.map(let shape), .object(let members)):
            return members.flatMap { shape.faults(in: $1, at: "\(place).\($0)") }
        case (.object(let required, let optional), .object(let members)):
            let known = required.merging(optional) { first, _ in first }
            return required.keys.filter { members[$0] == nil }.map { "\(place).\($0) is missing" }
                + members.flatMap { key, value in
                    known[key]?.faults(in: value, at: "\(place).\(key)") ?? ["\(place).\(key) is unheard of"]
                }
        case (.either(let first, let second), _):
            let faults = first.faults(in: json, at: place)
            return faults.isEmpty || second.faults(in: json, at: place).isEmpty ? [] : faults
        default: return ["\(place) is \(json), not \(self)"]
        }
    }
}
