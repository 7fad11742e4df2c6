/// The fields of a request that nothing read, and what else is probably a mistake.
///
/// Old senders send some. A caller whose `expires_at` does nothing should learn of it.
struct IgnoredFields: Sendable, Hashable {
    /// The fields as the caller wrote them, with those that may have been meant.
    private var fields: [Field] = []
    private var examined = 0
    /// The number of fields that were not examined.
    private var others = 0
    private var remarks: [String] = []

    private struct Field: Sendable, Hashable {
        let written: String
        let meant: String?
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
        "model": "device_model", "url": "link", "deeplink": "link", "clickaction": "link", "icon": "image",
        "picture": "image", "extra": "data", "all": "everyone",
    ]
    /// The admin API's names for fields of PCF.
    private static let adminNames = ["expiryTime": "expires_at", "scheduleAt": "send_at", "scheduleIn": "send_at"]

    var isEmpty: Bool { fields.isEmpty && others == 0 && remarks.isEmpty }

    /// Notes another mistake that the caller should learn of.
    ///
    /// - Parameter text: plain ASCII, without quotation marks.
    mutating func remark(_ text: String) { remarks.append(text) }

    /// Notes a token that is shorter than all that are known.
    mutating func remark(_ token: DeviceToken?, on platform: Platform) {
        guard let bytes = token?.missingBytes(for: platform.kind) else { return }
        remark("registration_token is \(bytes.found) bytes, tokens of APNs have \(bytes.usual) so far")
    }

    /// Notes topics of a push that no device has. Names that a header cannot hold are counted.
    mutating func remark(withoutSubscribers topics: [String]) {
        guard !topics.isEmpty else { return }
        let named = topics.filter(Self.isPlain).prefix(Self.examinedMax)
        let others = topics.count - named.count
        let more = others == 0 ? [] : ["\(others) \(named.isEmpty ? "of the topics" : "more")"]
        remark("nobody subscribes to \((named + more).joined(separator: ", "))")
    }

    /// Notes the types of platform that refuse a push for its size.
    mutating func remark(tooLarge refusals: [InvalidInput]) {
        for refusal in refusals { remark(refusal.ofDevices) }
    }

    /// Notes a field that nothing reads, if it resembles one of the known ones.
    ///
    /// Returns that one.
    ///
    /// - Parameters:
    ///   - prefix: the path of the object that holds it.
    ///   - always: whether it is noted although it resembles none.
    @discardableResult
    mutating func note(_ key: String, under prefix: String = "", known: [String], always: Bool = false) -> String? {
        examined += 1
        guard examined <= Self.examinedMax, Self.isPlain(key) else {
            if always { others += 1 }
            return nil
        }
        let meant = Self.meaning(of: key, among: known)
        guard always || meant != nil else { return nil }
        fields.append(Field(written: prefix + key, meant: meant.map { prefix + $0 }))
        return meant
    }

    /// Whether a header can hold it.
    private static func isPlain(_ key: String) -> Bool {
        1...nameBytesMax ~= key.utf8.count
            && key.utf8.allSatisfy { 0x21..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// The warning, such as `expires_at was ignored (is expiryTime meant?)`.
    var text: String {
        let ignored = fields.map { "\($0.written) was ignored\($0.meant.map { " (is \($0) meant?)" } ?? "")" }
        let more = others == 0 ? [] : ["\(others) more \(others == 1 ? "field was" : "fields were") ignored"]
        return (ignored + more + remarks).joined(separator: "; ")
    }

    /// The end of a sentence that refuses a request; empty where nothing was ignored.
    var hint: String { fields.isEmpty && others == 0 ? "" : "; \(text)" }

    /// The value of the header that warns of them. Source: RFC 7234 §5.5, code 299, miscellaneous persistent warning.
    var warning: String { "299 - \"\(text)\"" }

    /// The field that is probably meant.
    static func meaning(of key: String, among known: [String]) -> String? {
        if let synonym = synonyms[NearestName.plain(key)] {
            // A target has the plural.
            let names = [synonym, synonym + "s"] + [adminNames[synonym]].compactMap(\.self)
            if let field = names.first(where: known.contains) { return field }
            // A target's field beside the target.
            if ["topics", "devices", "custom_user_ids"].contains(synonym) {
                return known.contains("target") ? "target.\(synonym)" : known.contains("tags") ? "tags" : nil
            }
        }
        return known.nearest(to: key)
    }
}

extension PCF {
    /// The treatment of fields that nothing reads.
    package enum UnknownFields: Sendable {
        /// Refuses the request.
        case refused
        /// Ignores the field, as PCF did, and tells the caller.
        case ignored

        init(of application: BelfryService.Application) {
            self = application.ignoresUnknownFields ? .ignored : .refused
        }

        /// Throws where a field of a push stands twice, unless the application is as tolerant as PCF was.
        func refuseTwice(
            _ key: String, among known: [String], under prefix: String = "", _ given: inout GivenFields
        ) throws(InvalidInput) {
            guard self == .refused else { return }
            do throws(InvalidInput) { _ = try given.note(key, among: known, under: prefix) } catch {
                throw error.withNothingSent
            }
        }

        /// Takes a field that nothing reads, with the reader at its value. One without a value says nothing.
        ///
        /// Returns the field that is probably meant.
        ///
        /// - Parameters:
        ///   - prefix: the path of the object that holds it.
        ///   - whole: what it is no field of.
        ///   - sends: whether the request is a push: the refusal says that nothing was sent.
        @discardableResult
        func take(
            _ key: String, under prefix: String = "", of whole: String, known: [String], from reader: inout JSONReader,
            _ ignored: inout IgnoredFields, sends: Bool = false
        ) throws(InvalidInput) -> String? {
            guard try !reader.null() else {
                ignored.note(key, under: prefix, known: known)
                return nil
            }
            guard self == .ignored else {
                let meant = IgnoredFields.meaning(of: key, among: known)
                let refusal = InvalidInput.unknown(
                    prefix + key, key, notOf: "a field of \(whole)", known: known, meant: meant)
                throw sends ? refusal.withNothingSent : refusal
            }
            try reader.skip()
            return ignored.note(key, under: prefix, known: known)
        }
    }
}
