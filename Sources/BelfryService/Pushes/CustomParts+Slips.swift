/// Finds probable slips of the pen in parts of `message.custom` that are otherwise data for the app.
extension CustomParts {
    /// The fields that a server or a service worker reads by name. Other names that are data as likely, such as `title`, are not judged.
    private static func ownFields(of part: String) -> [String] {
        switch part {
        case "web": ["message", "navigate", "requireInteraction", "app_badge", "actions"]
        case _ where AndroidPart.names.contains(part):
            ["message", "collapse_key", "priority", "channel", "category"]
        default: []
        }
    }

    /// The most members that are examined: people write fewer by hand.
    private static let membersMax = 64

    /// Throws where a name differs from that of a field by one slip.
    static func checkSlips(_ value: JSONValue, of part: String) throws(InvalidInput) {
        let known = ownFields(of: part)
        guard !known.isEmpty, case .object(let members) = value else { return }
        for (key, value) in members.prefix(membersMax) where !value.isNull && !known.contains(key) {
            guard let meant = known.nearest(to: key), key.isSlip(of: meant) else { continue }
            throw InvalidInput(
                field: "message.custom.\(part).\(key)",
                "is no field of this part (is \(meant) meant?); as data for the app it goes into message.data")
        }
    }

    /// Remarks on values that were corrected while reading, in plain ASCII.
    static func corrections(in custom: JSONObject) -> [String] {
        custom["ios"]?["mutable-content"] == .bool(true)
            ? ["message.custom.ios.mutable-content is 1 in Apple's words, true was taken as 1"] : []
    }
}

extension String {
    /// Whether it is another name in other case or with other separators, where that has several words; or has two of its letters
    /// changed, or one missing or too many. A plural is another word.
    fileprivate func isSlip(of name: String) -> Bool {
        let (own, plain) = (NearestName.plain(self), NearestName.plain(name))
        let hasWords = plain != name
        if own == plain { return hasWords }
        guard own != plain + "s" else { return false }
        if own.utf8.sorted() == plain.utf8.sorted() { return true }
        return plain.utf8.count >= 7 && own.edits(to: plain) == 1
    }
}
