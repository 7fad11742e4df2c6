/// Numbers by a hash, more of them than fit into memory, for as long as a dry run of an import takes.
package protocol ImportScratch: Sendable {
    /// The numbers under the keys; keys without any are left out.
    func values(of keys: [UInt64]) async throws -> [UInt64: [UInt64]]
    func set(_ values: [UInt64: [UInt64]]) async throws
}
