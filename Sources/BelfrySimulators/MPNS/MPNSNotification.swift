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
