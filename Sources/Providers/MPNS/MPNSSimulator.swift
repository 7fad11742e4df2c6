/// Microsoft's side for Windows Phone: channels, whose answer is in three header fields.
package final class MPNSService: SimulatedService {
    private let configuration: MPNSConfiguration
    private let quota: Quota?

    package init(_ configuration: MPNSConfiguration) {
        self.configuration = configuration
        self.quota = configuration.messagesPerDay.map { Quota($0, per: .seconds(86_400)) }
    }

    /// The answers by their notification status, and the others by name.
    ///
    /// Source: Microsoft, "Push notification service response codes for Windows Phone".
    package func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "QueueFull": Self.answer(200, "QueueFull", "Connected", "Active", reason)
        case "Suppressed": Self.answer(200, "Suppressed", "Connected", "Active", reason)
        case "BadRequest": Self.answer(400, nil, nil, nil, reason)
        case "Unauthorized": Self.answer(401, "Dropped", "N/A", "Active", reason)
        case "Forbidden": Self.answer(403, nil, nil, nil, reason)
        case "Expired": Self.answer(404, "Dropped", "N/A", "Expired", reason)
        case "MethodNotAllowed": Self.answer(405, nil, nil, nil, reason)
        case "Throttled": Self.answer(406, "Dropped", "Connected", "Active", reason)
        case "InActive": Self.answer(412, "Dropped", "InActive", "N/A", reason)
        case "ServiceUnavailable": Self.answer(503, "N/A", "N/A", "N/A", reason)
        default: nil
        }
    }

    package func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply {
        let parts = request.segments
        guard parts.count >= 3, ["throttledthirdparty", "unthrottledthirdparty"].contains(parts[0]),
            let token = parts.last
        else { return refuse("Expired") }
        guard request.method == "POST" else { return refuse("MethodNotAllowed", token) }
        guard MPNSNotification(request).isGood(configuration) else { return refuse("BadRequest", token) }
        if let scripted = context.scripted(for: token) { return ServiceReply(scripted.answer(by: self), token: token) }
        if parts[0] == "throttledthirdparty", quota?.take(token, at: context.now) != nil {
            return refuse("Throttled", token)
        }
        var answer = Self.answer(200, "Received", "Connected", "Active", nil)
        let id = request.field("x-messageid")
        if let id { answer.fields.append(("x-messageid", id)) }
        let payload = context.keepsPayloads ? String(decoding: request.body, as: UTF8.self) : ""
        return ServiceReply(answer, token: token, payload: payload, messageID: id)
    }

    private static func answer(
        _ status: Int, _ notification: String?, _ device: String?, _ subscription: String?, _ reason: String?
    ) -> ServiceAnswer {
        let fields = [
            ("x-notificationstatus", notification), ("x-deviceconnectionstatus", device),
            ("x-subscriptionstatus", subscription),
        ]
        return ServiceAnswer(
            status, reason: reason, fields: fields.compactMap { name, value in value.map { (name, $0) } })
    }
}

/// MPNS on this machine: channels at `/throttledthirdparty/01.00/{token}`.
package typealias MPNSSimulator = ServiceSimulator<MPNSService>

extension ServiceSimulator where S == MPNSService {
    /// The channel address of a device. The script and the ledger call it by its token.
    package func channel(_ token: String) -> String { "\(url)/throttledthirdparty/01.00/\(token)" }

    /// The channel for a sender with a certificate, which has no daily limit.
    package func unthrottledChannel(_ token: String) -> String {
        "\(url)/unthrottledthirdparty/01.00/\(token)"
    }
}

/// How a simulated MPNS listens and how much it takes.
package struct MPNSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// Messages to a channel in a day; nil for no limit. Source: Microsoft, unauthenticated web services.
    package var messagesPerDay: Int? = 500
    package var bodyBytesMax = 3 * 1024
    package var rawBytesMax = 1024

    package init() {}
}

/// A notification, validated by the rules for its headers and its XML.
///
/// Source: Microsoft, "Sending push notifications for Windows Phone 8".
struct MPNSNotification {
    enum Kind {
        case toast, tile, raw

        /// The last digit of `X-NotificationClass`; the tens give the delay: none, 450 or 900 seconds.
        var unit: Int {
            switch self {
            case .tile: 1
            case .toast: 2
            case .raw: 3
            }
        }
    }

    private let request: ServiceRequest
    private let kind: Kind?

    init(_ request: ServiceRequest) {
        self.request = request
        self.kind =
            switch request.field("x-windowsphone-target") {
            case nil: .raw
            case "toast": .toast
            case "token": .tile
            default: nil
            }
    }

    /// Whether MPNS accepts it at all.
    func isGood(_ configuration: MPNSConfiguration) -> Bool {
        guard let kind, hasClass(of: kind) else { return false }
        let most = kind == .raw ? configuration.rawBytesMax : configuration.bodyBytesMax
        guard (1...most).contains(request.body.count) else { return false }
        return kind == .raw || request.mediaType == "text/xml" && isXML(of: kind)
    }

    private func hasClass(of kind: Kind) -> Bool {
        guard let text = request.field("x-notificationclass") else { return true }
        return [kind.unit, 10 + kind.unit, 20 + kind.unit].contains(Int(text) ?? 0)
    }

    private func isXML(of kind: Kind) -> Bool {
        guard let text = String(validating: request.body, as: UTF8.self), let root = XML(text),
            root.name == "wp:Notification", root.attributes["xmlns:wp"] == "WPNotification"
        else { return false }
        guard kind == .toast else { return root.child("wp:Tile") != nil }
        guard let toast = root.child("wp:Toast") else { return false }
        // A page of the app, or what its first page is opened with.
        let opened = toast.child("wp:Param")?.text ?? "/"
        return Set(toast.children.map(\.name)).isSubset(of: ["wp:Text1", "wp:Text2", "wp:Param"])
            && (opened.hasPrefix("/") || opened.hasPrefix("?"))
    }
}
