extension AdminKey {
    /// An admin key as its holder writes it: `bfy_<id>_<secret>`, so that it is recognised wherever it turns up.
    package struct Text: Sendable, Hashable {
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

        /// The id in a text that a person entered for a key: the id, or the whole key.
        package static func id(in given: String) -> String { Text(given)?.id ?? given }

        package static func random() -> Text {
            Text(id: [UInt8].random(count: 8).hex, secret: [UInt8].random(count: 32).hex)
        }

        package var text: String { "\(Self.mark)_\(id)_\(secret)" }
    }
}

extension [UInt8] {
    /// From the system's generator, which is suitable for secrets.
    package static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
