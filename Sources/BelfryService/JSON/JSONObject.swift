/// The members of an object in the order in which they were written.
///
/// Members that the program adds are placed in the order of the keys. Keys are compared by their bytes: two spellings of a text that look
/// the same are two keys, as to every other reader of JSON. Looking a member up takes time in proportion to their number: it is for names
/// that the program knows.
package struct JSONObject: Sendable {
    package typealias Member = (key: String, value: JSONValue)

    private var members: [Member]

    package init() { members = [] }

    /// Makes an object. A repeated key keeps its first place and takes its last value.
    package init(_ members: [Member]) {
        self.members = members
        guard members.hasKeyTwice else { return }
        self.members = []
        var places: [KeyBytes: Int] = [:]
        for member in members {
            if let place = places[KeyBytes(member.key)] {
                self.members[place].value = member.value
            } else {
                places[KeyBytes(member.key)] = self.members.count
                self.members.append(member)
            }
        }
    }

    /// In the order of the keys.
    package init(_ members: [String: JSONValue]) {
        self.members = members.map { (key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    }

    /// Texts in the order of their keys.
    package init(_ texts: [String: String]) { self.init(texts.mapValues(JSONValue.string)) }

    /// A new member goes before the first whose key is greater.
    package subscript(key: String) -> JSONValue? {
        get { place(of: key).map { members[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.insert((key, value), at: members.firstIndex { $0.key > key } ?? count)
            case (nil, nil): return
            }
        }
    }

    private func place(of key: String) -> Int? {
        let bytes = key.utf8.count
        return members.firstIndex { $0.key.utf8.count == bytes && $0.key.utf8.elementsEqual(key.utf8) }
    }

    @discardableResult
    package mutating func removeValue(forKey key: String) -> JSONValue? {
        place(of: key).map { members.remove(at: $0).value }
    }

    /// The members as texts: a value other than a text is its JSON, and null is left out.
    package var texts: [(key: String, text: String)] {
        members.compactMap { $0.value.isNull ? nil : ($0.key, $0.value.flat) }
    }

    /// For callers that look known names up.
    package var dictionary: [String: JSONValue] {
        Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    }

    package var keys: [String] { members.map(\.key) }
    package var values: [JSONValue] { members.map(\.value) }

    package func mapValues<Failure>(
        _ transform: (JSONValue) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONObject {
        var mapped = self
        for place in members.indices { mapped.members[place].value = try transform(members[place].value) }
        return mapped
    }

    /// Returns the members for which `isIncluded` is true.
    package func filter(_ isIncluded: (Member) -> Bool) -> JSONObject {
        var filtered = self
        filtered.members.removeAll { !isIncluded($0) }
        return filtered
    }

    /// The object with the members of another behind its own. A key of both keeps the first place.
    package func merging(_ other: JSONObject, _ combine: (JSONValue, JSONValue) -> JSONValue) -> JSONObject {
        var places: [KeyBytes: Int] = [:]
        for (place, member) in members.enumerated() { places[KeyBytes(member.key)] = place }
        var merged = self
        for member in other.members {
            if let place = places[KeyBytes(member.key)] {
                merged.members[place].value = combine(members[place].value, member.value)
            } else {
                merged.members.append(member)
            }
        }
        return merged
    }
}

extension JSONObject: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { members.count }
    package subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// In the order of the keys.
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) }.sorted { $0.key < $1.key })
    }
}

/// Compares without regard to the order of members.
extension JSONObject: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        let isInOrder = left.members.elementsEqual(right.members) { left, right in
            KeyBytes(left.key) == KeyBytes(right.key) && left.value == right.value
        }
        if isInOrder { return true }
        let values = Dictionary(uniqueKeysWithValues: right.members.map { (KeyBytes($0.key), $0.value) })
        return left.members.allSatisfy { values[KeyBytes($0.key)] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        var sum = 0
        for member in members {
            var own = Hasher()
            own.combine(KeyBytes(member.key))
            own.combine(member.value)
            sum ^= own.finalize()
        }
        hasher.combine(sum)
    }
}

/// A text that is compared and hashed by its bytes. Swift does both canonically, and a caller can send any number of texts that differ in
/// bytes and are canonically equal.
struct KeyBytes: Hashable {
    private let key: String

    init(_ key: String) { self.key = key }

    static func == (left: Self, right: Self) -> Bool {
        left.key.utf8.count == right.key.utf8.count && left.key.utf8.elementsEqual(right.key.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension [JSONObject.Member] {
    /// Compares few keys with each other, and many by their hashes.
    fileprivate var hasKeyTwice: Bool {
        guard count > 1 else { return false }
        if count > 16 { return Set(lazy.map { KeyBytes($0.key) }).count < count }
        return indices.dropFirst().contains { place in
            self[..<place].contains { KeyBytes($0.key) == KeyBytes(self[place].key) }
        }
    }
}
