import BelfryCore
import Crypto

extension Admin {
    /// An admin key as its holder writes it: `bfy_<id>_<secret>`, so that it is known for what it is wherever it turns up.
    package struct KeyText: Sendable, Hashable {
        /// 16 hex digits.
        package let id: String
        /// 64 hex digits: 256 random bits.
        package let secret: String

        private static let mark = "bfy"

        package init(id: String, secret: String) {
            self.id = id
            self.secret = secret
        }

        /// nil when it has another form.
        package init?(_ text: String) {
            let parts = text.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == Self.mark, parts[1].utf8.count == 16, parts[2].utf8.count == 64 else {
                return nil
            }
            self.init(id: String(parts[1]), secret: String(parts[2]))
        }

        package static func random() -> KeyText {
            KeyText(id: SymmetricKey(size: .init(bitCount: 64)).hex, secret: SymmetricKey(size: .bits256).hex)
        }

        package var text: String { "\(Self.mark)_\(id)_\(secret)" }
        package var secretHash: [UInt8] { SecretHash.of(secret) }
    }
}

extension SymmetricKey {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
    fileprivate var hex: String { bytes.hex }
}
