import BelfryCore

/// The fields of a request that nothing read, although they look like misspelt ones, and what else is probably a mistake.
///
/// Unknown fields are ignored, since old senders send some; a caller whose `expires_at` does nothing had better hear of it.
struct IgnoredFields: Sendable, Hashable {
    /// What the caller wrote, and the field it may have meant.
    private var fields: [Field] = []
    private var examined = 0
    private var remarks: [String] = []

    private struct Field: Sendable, Hashable {
        let written: String
        let meant: String
    }

    /// A request with more unknown fields is not from someone who misspelt one.
    private static let examinedMax = 8
    private static let nameBytesMax = 40
    /// Names that other push services and our own admin API use, with the field that does the same here.
    private static let synonyms = [
        "expiresat": "expiryTime", "expiry": "expiryTime", "expiration": "expiryTime", "ttl": "expiryTime",
        "timetolive": "expiryTime", "sendat": "scheduleAt", "scheduledfor": "scheduleAt", "scheduledat": "scheduleAt",
        "delay": "scheduleIn", "notification": "message", "payload": "message", "body": "message",
        "recipients": "target", "audience": "target", "to": "target", "topics": "topics", "topic": "topics",
        "devices": "devices", "deviceuuids": "devices", "users": "custom_user_ids", "userids": "custom_user_ids",
        "subscriptions": "tags", "token": "registration_token", "devicetoken": "registration_token",
        "userid": "custom_user_id", "user": "custom_user_id", "username": "custom_user_id", "text": "body",
        "alert": "body", "alias": "device_alias",
        "model": "device_model",
    ]

    var isEmpty: Bool { fields.isEmpty && remarks.isEmpty }

    /// Notes something else that the caller had better hear of.
    ///
    /// - Parameter text: plain ASCII, without quotation marks.
    mutating func remark(_ text: String) { remarks.append(text) }

    /// Notes a token that is shorter than all that are known.
    mutating func remark(_ token: DeviceToken?, on platform: Platform) {
        guard let bytes = token?.missingBytes(for: platform.kind) else { return }
        remark("registration_token is \(bytes.found) bytes, tokens of APNs have \(bytes.usual) so far")
    }

    /// Notes a field that nothing reads, if it resembles one of the known ones.
    ///
    /// Returns that one.
    ///
    /// - Parameter prefix: the path of the object that holds it.
    @discardableResult
    mutating func note(_ key: String, under prefix: String = "", known: [String]) -> String? {
        examined += 1
        guard examined <= Self.examinedMax, 1...Self.nameBytesMax ~= key.utf8.count,
            key.utf8.allSatisfy({ 0x21..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }),
            let meant = Self.meaning(of: key, among: known)
        else { return nil }
        fields.append(Field(written: prefix + key, meant: prefix + meant))
        return meant
    }

    /// Such as `expires_at was ignored, expiryTime is meant?`.
    var text: String {
        (fields.map { "\($0.written) was ignored (is \($0.meant) meant?)" } + remarks).joined(separator: "; ")
    }

    /// The end of a sentence that refuses a request; empty where nothing looks misspelt.
    var hint: String { fields.isEmpty ? "" : "; \(text)" }

    /// The value of the header that warns of them. Source: RFC 7234 §5.5, code 299, miscellaneous persistent warning.
    var warning: String { "299 - \"\(text)\"" }

    private static func meaning(of key: String, among known: [String]) -> String? {
        let plain = plain(key)
        if let synonym = synonyms[plain] {
            // A target has the plural.
            if let field = [synonym, synonym + "s"].first(where: known.contains) { return field }
            // A target's field beside the target.
            if ["topics", "devices", "custom_user_ids"].contains(synonym) {
                return known.contains("target") ? "target.\(synonym)" : known.contains("tags") ? "tags" : nil
            }
        }
        let nearest = known.map { (field: $0, edits: Self.plain($0).edits(to: plain)) }.min { $0.edits < $1.edits }
        return nearest.flatMap { $0.edits <= (plain.utf8.count < 5 ? 1 : 2) ? $0.field : nil }
    }

    /// Without case and separators.
    private static func plain(_ name: String) -> String {
        String(decoding: name.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }, as: UTF8.self)
            .lowercased()
    }
}
