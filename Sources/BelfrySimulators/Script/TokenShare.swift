/// A share of all tokens, the same tokens each time.
struct TokenShare: Sendable {
    /// Tokens whose hash is below this are in the share.
    private let limit: UInt64
    private let salt: UInt64

    /// - Parameters:
    ///   - share: 0 to 1.
    ///   - salt: selects another share of the same size.
    init(_ share: Double, salt: UInt64?) {
        self.limit = share >= 1 ? .max : UInt64(share * 0x1p64)
        // Not the ledger's own hash, whose top bits choose the stripe.
        self.salt = salt ?? 0x5AFE
    }

    func contains(_ token: UnsafeRawBufferPointer) -> Bool {
        !token.isEmpty && StableHash.hash(token, salt: salt) < limit
    }
}
