/// The work that opening one file may cost. The file itself says how often a hash is computed for each of its keys, so this is counted
/// before anything is derived.
///
/// A file of OpenSSL takes 2,048 iterations for each of three keys, one of Firefox 600,000. A million cost a third of a second.
package struct DerivationBudget {
    /// The most iterations for one key.
    package static let iterationsMax = 1_000_000
    /// The most iterations for all keys of a file together, each counted for each block of a hash that it takes.
    package static let totalMax = 2_400_000

    private let most: (each: Int, total: Int)
    private var spent = 0

    var totalMax: Int { most.total }

    package init(each: Int = Self.iterationsMax, total: Int = Self.totalMax) { most = (each, total) }

    /// Counts the derivation of a key. Throws when it is beyond the limits.
    ///
    /// - Parameter blocks: how many times the iterations are made for one key.
    mutating func charge(_ iterations: Int, blocks: Int) throws(KeyFileError) {
        guard iterations > 0 else { throw KeyFileError(.format, "a key of the file is derived in no iteration") }
        guard iterations <= most.each else {
            throw KeyFileError(
                .cost,
                "the file asks for \(iterations == .max ? "too many" : String(iterations)) iterations to derive a key, at most "
                    + "\(most.each) are made; export it again with fewer")
        }
        spent += iterations * blocks
        guard spent <= most.total else {
            throw KeyFileError(
                .cost,
                "the keys of the file take more than \(most.total) iterations together; export it again with fewer")
        }
    }
}
