package import FoundationEssentials

/// The payload for a browser: a declarative push message where the sender wrote one for the web, or a title for all platforms and nothing
/// for the web; otherwise a JSON object of the sender's own members with `body`. Both have the `receiptId`.
package struct WebPayload: Sendable, Hashable {
    package let bytes: [UInt8]
    package let members: JSONObject
    /// The part that is shown, for a worker that knows only notifications; nil where the sender wrote for a worker of the site.
    package let notification: JSONObject?

    /// The rest of 4,096 bytes after encryption. Source: RFC 8291 §4.
    package static let bytesMax = 3_993
    /// Tells a declarative message from other JSON. Source: W3C Push API, "Declarative push message".
    package static let declarativeMark: Int64 = 8_030

    /// - Parameter receiptID: nil leaves it out.
    /// - Throws: `InvalidInput` when the sender's part is not an object, or the whole is too large.
    package init(_ content: Push.Content, receiptID: UUID?) throws(InvalidInput) {
        let declared = try content.declaredWeb()
        var members = if let declared { Self.declarative(declared, content) } else { try Self.own(content) }
        notification =
            if declared != nil, case .object(let shown)? = members["notification"] { shown } else {
                try content.members("web") == nil ? members : nil
            }
        if let receiptID {
            let id = JSONValue.string(receiptID.lowercased)
            members["receiptId"] = id
            if declared != nil { members["notification"] = members["notification"]?.carrying(receiptID: id) }
        }
        self.members = members
        bytes = JSONValue.object(members).encoded
        guard bytes.count <= Self.bytesMax else {
            throw .tooLarge("a web", bytes: bytes.count, "Web Push takes", limit: Self.bytesMax)
        }
    }

    /// The sender's `message.custom.web` as it is.
    private static func own(_ content: Push.Content) throws(InvalidInput) -> JSONObject {
        var members = try content.members("web") ?? [:]
        guard members["receiptId"] == nil else {
            throw InvalidInput(field: "message.custom.web.receiptId", "is reserved: the server writes it")
        }
        if let body = content.body, members.own("body") == nil { members["body"] = .string(body) }
        content.shared.fill(&members)
        if content.pacing.isPassive { members["silent"] = .bool(true) }
        if members["app_badge"] == nil { members["app_badge"] = content.badge?.inPayload }
        if let followed = content.follows, !followed.isRetraction { members["tag"] = .string(followed.id(on: .web)) }
        return members
    }

    /// Makes the message mutable, so that a browser that could show it by itself still asks the worker, which reports
    /// that it was received.
    private static func declarative(_ message: WebMessage, _ content: Push.Content) -> JSONObject {
        var notification = message.notification
        // A notification with a title of its own is complete: the text beside it is for the other platforms.
        if let body = content.body, notification.own("title") == nil, notification.own("body") == nil {
            notification["body"] = .string(body)
        }
        content.shared.fill(&notification)
        if content.pacing.isPassive { notification["silent"] = .bool(true) }
        // A declarative message has to have a target. Source: W3C Push API, "Declarative push message parser".
        if notification["navigate"] == nil { notification["navigate"] = .string("/") }
        if let tag = content.follows?.id(on: .web) ?? message.topic { notification["tag"] = .string(tag) }
        notification["requireInteraction"] = notification.removeValue(forKey: "require_interaction")
        var members: JSONObject = [
            "web_push": .integer(declarativeMark), "mutable": .bool(true), "notification": .object(notification),
        ]
        members["app_badge"] = (message.appBadge ?? content.badge)?.inPayload
        return members
    }
}

extension Push.Content {
    /// The sender's notification for browsers, or one that has all of the fields for all platforms; nil where those have no title, and
    /// where there is a part for workers.
    fileprivate func declaredWeb() throws(InvalidInput) -> WebMessage? {
        if let web { return web }
        guard shared.title != nil, try members("web") == nil else { return nil }
        return WebMessage()
    }
}

extension SharedFields {
    /// Adds fields that the sender's own part for browsers does not have. Browsers play no sounds of a sender, and open pages only.
    fileprivate func fill(_ notification: inout JSONObject) {
        guard !isEmpty else { return }
        let page = link.flatMap { $0.isPage ? $0 : PayloadTemplate.pageMark($0) }
        for (key, text) in [("title", title), ("image", image), ("navigate", page), ("tag", collapseKey)] {
            if let text, notification.own(key) == nil { notification[key] = .string(text) }
        }
        if notification["data"] == nil, !data.isEmpty { notification["data"] = .object(data) }
    }
}

extension String {
    var isPage: Bool { schemeAndRest?.scheme.hasPrefix("http") == true }
}

extension JSONValue {
    /// A notification whose data also holds the receipt id: a worker sees only the notification of a declarative message.
    fileprivate func carrying(receiptID: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        var data: JSONObject = ["receiptId": receiptID]
        data["data"] = members["data"]
        members["data"] = .object(data)
        return .object(members)
    }
}
