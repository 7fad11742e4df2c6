import FoundationEssentials

/// Checks whether bytes are one JSON object.
enum JSONObject {
    static func isObject(_ bytes: [UInt8]) -> Bool {
        (try? JSONDecoder().decode([String: Anything].self, from: Data(bytes))) != nil
    }

    /// Any JSON value, ignored.
    private struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }
}
