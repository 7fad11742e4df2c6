public import Foundation

/// A reason why something could not be done now. None is fatal: the wish is kept, and tried again at the next call or start.
public enum BelfryError: Error, Sendable, Hashable {
    /// No answer: offline, a time-out, or the app was suspended.
    case unreachable(String)
    /// The server is there and has no time; how many seconds it asks to wait, if it says.
    case busy(retryAfter: Int?)
    /// The platform's UUID or secret is wrong.
    case unauthorized
    /// The server refuses the request, and says why. The same request would be refused again.
    case refused(status: Int, reason: String)
    /// The answer is none of a Belfry: of a proxy without its server, or of a network that wants a login.
    case unreadable(String)
    /// The app's back end did not sign the user's id.
    case unsigned(String)
    /// The SDK's folder cannot be written or read.
    case storage(String)
    /// The app has not asked for a registration yet.
    case unregistered
}

extension BelfryError {
    /// Whether the same request may do later what it did not now.
    public var isTemporary: Bool {
        switch self {
        case .unreachable, .busy, .unreadable, .unsigned, .storage: true
        case .unauthorized, .refused, .unregistered: false
        }
    }
}

/// Changes that the SDK reports to an app that listens.
public enum BelfryChange: Sendable, Hashable {
    /// The server knows this device as the app wants it.
    case registered(device: String)
    case unregistered
    /// The server could not do what the app wanted. The wish is kept.
    case failed(BelfryError)
    case received(PushMessage)
    case geofencesChanged
}

/// A push as this device got it.
public struct PushMessage: Sendable, Hashable, Codable {
    public let receiptID: String
    public let title: String?
    public let body: String?
    /// The target of a tap: the `link` of the message.
    public let link: String?
    /// Milliseconds since 1970, by this device's clock.
    public let receivedAt: Int64

    public init(
        receiptID: String, title: String? = nil, body: String? = nil, link: String? = nil, receivedAt: Int64
    ) {
        self.receiptID = receiptID
        self.title = title
        self.body = body
        self.link = link
        self.receivedAt = receivedAt
    }

    /// Reads the payload of a push; nil for one of another server. Of an encrypted one it has the receipt alone, since it is kept on the disk.
    public init?(_ userInfo: [AnyHashable: Any], receivedAt: Int64 = Int64(Date().timeIntervalSince1970 * 1_000)) {
        guard let receiptID = userInfo["receiptId"] as? String else { return nil }
        guard userInfo["encrypted"] == nil else {
            self.init(receiptID: receiptID, receivedAt: receivedAt)
            return
        }
        let alert = (userInfo["aps"] as? [String: Any])?["alert"]
        let parts = alert as? [String: Any]
        self.init(
            receiptID: receiptID, title: parts?["title"] as? String,
            body: parts?["body"] as? String ?? alert as? String, link: userInfo["link"] as? String,
            receivedAt: receivedAt)
    }
}
