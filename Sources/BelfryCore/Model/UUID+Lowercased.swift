package import FoundationEssentials

extension UUID {
    /// As it is written everywhere outside.
    package var lowercased: String { uuidString.lowercased() }
}
