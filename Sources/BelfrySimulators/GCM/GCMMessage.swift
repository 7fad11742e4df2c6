/// A downstream message, from JSON or from a form. Source: Firebase, "Legacy HTTP server protocol".
struct GCMMessage {
    static let tokensMax = 1000
    static let bytesMax = 4096
    static let topicBytesMax = 2048
    static let ttlSecondsMax: Int64 = 2_419_200

    /// The recipients; `/topics/…` and conditions count as one.
    var targets: [String]
    var isForDevices: Bool
    var isDryRun: Bool
    /// The fault reported for each of its devices; nil when there is none.
    var complaint: String?

    /// - Throws: the text of the protocol's 400.
    init(json bytes: [UInt8]) throws(GCMFormError) {
        guard let json = JSON(bytes), json.members != nil else { throw .init("JSON_PARSING_ERROR: Unexpected token") }
        if let ids = json["registration_ids"] {
            guard let tokens = ids.strings else { throw .init("\"registration_ids\" field must be a JSON array") }
            guard (1...Self.tokensMax).contains(tokens.count) else {
                throw .init("Number of messages on bulk (\(tokens.count)) exceeds maximum allowed (1000)")
            }
            guard json["to"] == nil else {
                throw .init("Must use either \"registration_ids\" field or \"to\", not both")
            }
            targets = tokens
            isForDevices = true
        } else {
            guard let target = json["to"]?.string ?? json["condition"]?.string else { throw .init("Missing \"to\"") }
            targets = [target]
            isForDevices = json["condition"] == nil && !target.hasPrefix("/topics/")
        }
        if let data = json["data"], data.members == nil { throw .init("Field \"data\" must be a JSON object") }
        if let priority = json["priority"]?.string, !["normal", "high"].contains(priority) {
            throw .init("Invalid value for \"priority\"")
        }
        isDryRun = json["dry_run"]?.bool ?? false
        complaint = Self.complaint(
            keys: (json["data"]?.members ?? []).map(\.key), ttl: json["time_to_live"],
            bytes: Self.bytes(of: json["data"]) + Self.bytes(of: json["notification"]),
            most: isForDevices ? Self.bytesMax : Self.topicBytesMax)
    }

    init(form: [String: String]) throws(GCMFormError) {
        guard let token = form["registration_id"], !token.isEmpty else { throw .init("Error=MissingRegistration") }
        let data = form.filter { $0.key.hasPrefix("data.") }
        targets = [token]
        isForDevices = true
        isDryRun = form["dry_run"] == "true" || form["dry_run"] == "1"
        complaint = Self.complaint(
            keys: data.keys.map { String($0.dropFirst(5)) },
            ttl: form["time_to_live"].map { Int64($0).map { .number(Double($0)) } ?? .string($0) },
            bytes: data.reduce(0) { $0 + $1.key.utf8.count - 5 + $1.value.utf8.count }, most: Self.bytesMax)
    }

    private static func complaint(keys: [String], ttl: JSON?, bytes: Int, most: Int) -> String? {
        if keys.contains(where: { $0 == "from" || $0.hasPrefix("google.") || $0.hasPrefix("gcm.") }) {
            return "InvalidDataKey"
        }
        if let ttl, !(0...Self.ttlSecondsMax).contains(ttl.integer ?? -1) { return "InvalidTtl" }
        return bytes > most ? "MessageTooBig" : nil
    }

    private static func bytes(of value: JSON?) -> Int {
        (value?.members ?? []).reduce(0) { $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? 8) }
    }
}

/// A request that is refused as a whole.
struct GCMFormError: Error {
    var message: String

    init(_ message: String) {
        self.message = message
    }
}
