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
