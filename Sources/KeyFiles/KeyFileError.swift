/// Why a file with a key or a certificate cannot be used.
package struct KeyFileError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The bytes are not what the name says, or are damaged.
        case format
        /// The passphrase does not open the file, or there is none.
        case passphrase
        /// A key or a certificate is missing.
        case incomplete
        /// The key belongs to none of the certificates.
        case mismatch
        /// Opening it would cost more than the limits say.
        case cost
        /// An algorithm that is not supported.
        case unsupported
    }

    package let kind: Kind
    /// A human-readable reason; contains no secret.
    package let reason: String

    package var description: String { reason }

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
