/// The parameters of one command, in one buffer.
struct Parameters {
    private var bytes: [UInt8] = []
    private var starts: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    private(set) var types: [UInt32] = []

    mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        formats.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
    }

    mutating func append<Value: PostgresValue>(_ value: Value) {
        let start = bytes.count
        let isThere = value.encode(into: &bytes)
        starts.append(isThere ? start : nil)
        lengths.append(Int32(bytes.count - start))
        formats.append(1)
        types.append(Value.postgresType.id)
    }

    /// Lends what libpq needs: the count, the pointers (nil for NULL), the lengths, and that all are binary.
    func withPointers<Result>(
        _ body: (Int32, [UnsafePointer<CChar>?], [Int32], [Int32]) throws -> Result
    ) rethrows -> Result {
        // An empty value needs a pointer too.
        let whole = bytes.isEmpty ? [0] : bytes
        return try whole.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let places = starts.map { start in start.flatMap { base?.advanced(by: $0) } }
            return try body(Int32(starts.count), places, lengths, formats)
        }
    }
}
