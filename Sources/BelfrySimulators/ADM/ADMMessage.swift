import Crypto
import FoundationEssentials

/// A message for one device, validated by Amazon's rules. Source: developer.amazon.com, "ADM: send a message".
struct ADMMessage {
    static let dataBytesMax = 6 * 1024
    static let consolidationKeyMax = 64
    static let expiresAfter: ClosedRange<Int64> = 60...2_678_400

    private let json: JSON

    init?(_ bytes: [UInt8]) {
        guard let json = JSON(bytes), json.members != nil else { return nil }
        self.json = json
    }

    var complaint: String? {
        if json["data"] == nil, json["notification"] == nil { return "InvalidData" }
        if let data = json["data"], JSONShape.texts.complaint(about: data) != nil { return "InvalidData" }
        if dataBytes > Self.dataBytesMax { return "MessageTooLarge" }
        if let key = json["consolidationKey"], !(0...Self.consolidationKeyMax).contains(key.string?.count ?? -1) {
            return "InvalidConsolidationKey"
        }
        if let life = json["expiresAfter"], !Self.expiresAfter.contains(life.integer ?? 0) {
            return "InvalidExpiration"
        }
        if let md5 = json["md5"], md5.string != checksum { return "InvalidChecksum" }
        return nil
    }

    private var pairs: [(key: String, value: String)] {
        (json["data"]?.members ?? []).map { ($0.key, $0.value.string ?? "") }
    }

    private var dataBytes: Int { pairs.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

    /// Base64 of the MD5 of `key:value` pairs, sorted by key and separated by commas.
    private var checksum: String {
        let text = pairs.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
            .map { "\($0.key):\($0.value)" }.joined(separator: ",")
        return Data(Insecure.MD5.hash(data: Array(text.utf8))).base64EncodedString()
    }
}
