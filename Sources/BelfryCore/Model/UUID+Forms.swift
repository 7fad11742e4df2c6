package import FoundationEssentials

extension UUID {
    /// As it is written everywhere outside.
    package var lowercased: String { uuidString.lowercased() }

    /// As it is kept.
    package var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

    /// nil unless there are 16.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}
