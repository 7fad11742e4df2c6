/// The number of devices with each answer, counted from the bytes of batch rows.
package struct AnswerTally: Sendable {
    private var devicesByCode = [Int](repeating: 0, count: 256)

    package init() {}

    package mutating func add(_ codes: UnsafeRawBufferPointer) {
        for code in codes { devicesByCode[Int(code)] += 1 }
    }

    package var devices: Int { devicesByCode.reduce(0, +) }

    /// Throws when a byte has no meaning.
    package func counts() throws -> [Answer: Int] {
        for (code, count) in devicesByCode.enumerated() where count > 0 && Answer(byte: UInt8(code)) == nil {
            throw StoreError.unavailable("answer \(code) has no meaning")
        }
        return readable
    }

    /// Without pending devices, and without bytes that have no meaning.
    package var final: [Answer: Int] { readable.filter { $0.key != .pending } }

    private var readable: [Answer: Int] {
        var counts: [Answer: Int] = [:]
        for (code, count) in devicesByCode.enumerated() where count > 0 {
            if let answer = Answer(byte: UInt8(code)) { counts[answer, default: 0] += count }
        }
        return counts
    }
}
