/// The control part of a push: content and recipients. Source: WAP-247, PAP 2.1, `push-message`.
struct PAPPush {
    var id: String
    var applicationID: String
    var addresses: [String]

    private static let methods: Set = ["confirmed", "preferconfirmed", "unconfirmed", "notspecified"]

    /// nil when it has another document type.
    init?(_ text: String) {
        guard let root = XML(text), root.name == "pap", let message = root.child("push-message"),
            let id = message.attributes["push-id"], !id.isEmpty,
            let application = message.attributes["source-reference"]
        else { return nil }
        if let deadline = message.attributes["deliver-before-timestamp"], !Self.isTimestamp(deadline) { return nil }
        if let quality = message.child("quality-of-service"),
            let method = quality.attributes["delivery-method"], !Self.methods.contains(method)
        {
            return nil
        }
        let addresses = message.children.filter { $0.name == "address" }.compactMap { $0.attributes["address-value"] }
        guard !addresses.isEmpty else { return nil }
        self.id = id
        self.applicationID = application
        self.addresses = addresses
    }

    /// `2026-01-01T00:00:00Z`.
    private static func isTimestamp(_ text: String) -> Bool {
        text.wholeMatch(of: #/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z/#) != nil
    }
}
