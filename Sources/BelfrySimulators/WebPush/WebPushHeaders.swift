/// The header fields of a push message. Source: RFC 8030 §5.2 to §5.4; RFC 8291 §4.
struct WebPushHeaders {
    let ttl: Int64?
    private let request: ServiceRequest

    init(_ request: ServiceRequest) {
        self.request = request
        let digits = request.field("ttl") ?? ""
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
        // Source: RFC 8030 §5.2: a number that is too large counts as 2^31.
        self.ttl = isNumber ? min(Int64(digits) ?? 1 << 31, 1 << 31) : nil
    }

    func complaint(_ configuration: WebPushConfiguration) -> WebPushProblem? {
        if request.values(of: "ttl").isEmpty { return .missingTTL }
        guard let ttl, request.values(of: "ttl").count == 1 else { return .badTTL }
        let urgencies = request.values(of: "urgency")
        guard urgencies.count <= 1, urgencies.allSatisfy(Self.urgencies.contains) else { return .badUrgency }
        let topics = request.values(of: "topic")
        guard topics.count <= 1, topics.allSatisfy(Self.isTopic) else { return .badTopic }
        if request.body.count > configuration.bodyBytesMax { return .tooLarge }
        if !request.body.isEmpty, request.field("content-encoding") != "aes128gcm" { return .badEncoding }
        return configuration.dialect == .microsoft ? complaintOfMicrosoft(ttl) : nil
    }

    /// WNS as a Web Push service: no chunks, and a TTL that fits the cache policy.
    private func complaintOfMicrosoft(_ ttl: Int64) -> WebPushProblem? {
        if !request.isHTTP2, request.field("content-length") == nil { return .lengthRequired }
        let caches = request.field("x-wns-cache-policy") != "no-cache"
        return caches == (ttl > 0) ? nil : .cachePolicyConflict
    }

    private static let urgencies: Set = ["very-low", "low", "normal", "high"]

    /// Whether a text has at most 32 characters, all of the URL-safe alphabet of base64.
    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 0x2D || $0 == 0x5F
            }
    }
}
