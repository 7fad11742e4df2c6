import FoundationEssentials
import Outbound

/// Why a push service refuses, in its own term. Each vendor has others; those with a meaning of their own are named.
public enum WebPushReason: Sendable, Hashable {
    /// Apple's term, such as `BadJwtToken`.
    case word(String)
    /// Mozilla's number. Source: autopush, "Error Codes".
    case number(Int)

    /// Apple: the subscription was made for another key pair.
    public static let keyMismatch = WebPushReason.word("VapidPkHashMismatch")
    /// Apple: signature, audience, subject or time of the token.
    public static let badToken = WebPushReason.word("BadJwtToken")

    /// Reads `{"reason":"…"}` or `{"errno":…}`; nil for any other bytes.
    init?(body: [UInt8]) {
        guard let written = try? JSONDecoder().decode(Written.self, from: Data(body)) else { return nil }
        if let word = written.reason, 1...64 ~= word.utf8.count, word.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            self = .word(word)
        } else if let number = written.errno {
            self = .number(number)
        } else {
            return nil
        }
    }

    private struct Written: Decodable {
        let reason: String?
        let errno: Int?
    }
}
