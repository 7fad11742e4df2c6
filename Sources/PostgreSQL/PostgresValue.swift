public import FoundationEssentials

/// The types of a statement's parameters, sent in PostgreSQL's binary format.
public protocol PostgresValue {
    /// The type announced to the server.
    static var postgresType: PostgresType { get }
    /// Appends the value; false, and nothing appended, for NULL.
    func encode(into bytes: inout [UInt8]) -> Bool
}

/// A type of the server by its object id, which is fixed for the built-in ones. Source: `pg_type.dat`.
public struct PostgresType: Sendable, Hashable {
    public let id: UInt32
    /// The type of arrays of it.
    public let arrayID: UInt32

    public init(id: UInt32, arrayID: UInt32) {
        self.id = id
        self.arrayID = arrayID
    }

    public static let boolean = PostgresType(id: 16, arrayID: 1000)
    public static let bytes = PostgresType(id: 17, arrayID: 1001)
    public static let bigint = PostgresType(id: 20, arrayID: 1016)
    public static let text = PostgresType(id: 25, arrayID: 1009)
    public static let double = PostgresType(id: 701, arrayID: 1022)
    public static let uuid = PostgresType(id: 2950, arrayID: 2951)
}

extension Int64: PostgresValue {
    public static var postgresType: PostgresType { .bigint }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: self)
        return true
    }
}

extension Int: PostgresValue {
    public static var postgresType: PostgresType { .bigint }

    public func encode(into bytes: inout [UInt8]) -> Bool { Int64(self).encode(into: &bytes) }
}

extension Bool: PostgresValue {
    public static var postgresType: PostgresType { .boolean }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }
}

extension Double: PostgresValue {
    public static var postgresType: PostgresType { .double }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: bitPattern)
        return true
    }
}

/// PostgreSQL stores no U+0000 in text; a statement with one fails with `SQLState.characterNotInRepertoire`.
extension String: PostgresValue {
    public static var postgresType: PostgresType { .text }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }
}

extension [UInt8]: PostgresValue {
    public static var postgresType: PostgresType { .bytes }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: self)
        return true
    }
}

extension UUID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }

    public func encode(into bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
        return true
    }
}

extension Optional: PostgresValue where Wrapped: PostgresValue {
    public static var postgresType: PostgresType { Wrapped.postgresType }

    public func encode(into bytes: inout [UInt8]) -> Bool { self?.encode(into: &bytes) ?? false }
}

extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

/// Many values as one parameter: `= ANY ($1)`, or `unnest($1)` for many rows in one statement.
public struct PostgresArray<Element: PostgresValue>: PostgresValue {
    public let elements: [Element]

    public init(_ elements: [Element]) { self.elements = elements }

    public init(_ elements: some Sequence<Element>) { self.elements = Array(elements) }

    public static var postgresType: PostgresType {
        PostgresType(id: Element.postgresType.arrayID, arrayID: Element.postgresType.arrayID)
    }

    /// Source: `array_recv` of PostgreSQL: dimensions, a flag that is not read, the type of the elements; the length and first
    /// index of each dimension; then each element behind its length, -1 for NULL.
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: Element.postgresType.id)
        guard !elements.isEmpty else { return true }
        bytes.append(bigEndian: Int32(elements.count))
        bytes.append(bigEndian: Int32(1))
        for element in elements {
            let start = bytes.count
            bytes.append(bigEndian: Int32(-1))
            guard element.encode(into: &bytes) else { continue }
            let length = Int32(bytes.count - start - 4)
            withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
        }
        return true
    }
}
