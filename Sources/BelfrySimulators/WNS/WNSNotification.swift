/// A notification, validated by the rules for its headers.
///
/// Source: Microsoft, "Push notification service request and response headers".
struct WNSNotification {
    enum Kind: String {
        case toast = "wns/toast"
        case tile = "wns/tile"
        case badge = "wns/badge"
        case raw = "wns/raw"
    }

    private let request: ServiceRequest

    init(_ request: ServiceRequest) {
        self.request = request
    }

    /// The fault, and its description.
    func complaint(bodyBytesMax: Int) -> (problem: WNSProblem, description: String)? {
        if request.field("content-length") == nil || request.field("transfer-encoding") != nil {
            return (.lengthRequired, "Content-Length is missing")
        }
        guard let kind = request.field("x-wns-type").flatMap(Kind.init) else {
            return (.badRequest, "X-WNS-Type is missing or unknown")
        }
        let type = kind == .raw ? "application/octet-stream" : "text/xml"
        guard request.mediaType == type else { return (.badRequest, "Content-Type does not fit X-WNS-Type") }
        if let (field, words) = badField { return (.badRequest, "\(field): \(words)") }
        return request.body.count > bodyBytesMax ? (.tooLarge, "The payload is larger than \(bodyBytesMax)") : nil
    }

    private var badField: (field: String, words: String)? {
        if let policy = request.field("x-wns-cache-policy"), policy != "cache", policy != "no-cache" {
            return ("X-WNS-Cache-Policy", policy)
        }
        if let ttl = request.field("x-wns-ttl"), UInt64(ttl) == nil { return ("X-WNS-TTL", ttl) }
        if let tag = request.field("x-wns-tag"), !Self.isTag(tag) { return ("X-WNS-Tag", tag) }
        if let priority = request.field("x-wns-priority"), !["1", "2", "3", "4"].contains(priority) {
            return ("X-WNS-Priority", priority)
        }
        return nil
    }

    /// Whether a device could read it: the XML is well-formed and its root fits its kind.
    var isReadable: Bool {
        guard let kind = request.field("x-wns-type").flatMap(Kind.init), kind != .raw else { return true }
        guard let text = String(validating: request.body, as: UTF8.self), let root = XML(text) else { return false }
        switch kind {
        case .toast: return root.name == "toast" && Self.isToast(root)
        case .tile: return root.name == "tile" && root.child("visual")?.child("binding") != nil
        case .badge: return root.name == "badge" && root.attributes["value"] != nil
        case .raw: return true
        }
    }

    /// A device shows no toast of Windows 8 whose parts are not numbered, and plays no sound of the web. Source: Microsoft, "Toast schema".
    private static func isToast(_ toast: XML) -> Bool {
        guard let binding = toast.child("visual")?.child("binding"), binding.attributes["template"]?.isEmpty == false
        else {
            return false
        }
        if let sound = toast.child("audio")?.attributes["src"], !sound.hasPrefix("ms-") { return false }
        return binding.attributes["template"] == "ToastGeneric"
            || binding.children.allSatisfy { part in
                guard part.attributes["id"].flatMap({ Int($0) }) != nil else { return false }
                return part.name == "text" || part.name == "image" && part.attributes["src"]?.isEmpty == false
            }
    }

    private static func isTag(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) }
    }
}
