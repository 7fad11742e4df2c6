import BelfryService

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
