package import FoundationEssentials
import HTTPTypes

/// A URL by which an application server that speaks Web Push reaches one registered device: a push resource of RFC 8030, and an endpoint
/// of UnifiedPush.
///
/// Its unguessable part, the capability, is shown once and stored as a hash. It serves as long as its device is active.
package struct WebPushEndpoint: Sendable, Hashable {
    package let key: Key<WebPushEndpoint>
    package let applicationKey: Key<Application>
    package let platformKey: Key<Platform>
    package let deviceKey: Key<Device>
    package let device: UUID
    /// The public key of the one application server that may use it, 65 bytes; nil for any that knows the URL.
    package let vapidKey: [UInt8]?
    /// Whether the device fetches its messages by itself. Otherwise the provider of its platform gets them.
    package let isFetched: Bool
    /// Whether its device is active.
    package let isAlive: Bool
    package let createdAt: Instant

    /// 192 random bits. Source: UnifiedPush, "Server Interface", asks for 160.
    static let capabilityBytes = 24
    /// Apps with several accounts have an endpoint for each.
    package static let perDeviceMax = 32
    /// The most messages that wait for a device which fetches them, and the most topics that are remembered of any other.
    package static let messagesMax = 64

    /// Whether messages can be pushed to devices of a type: its apps are woken with data of the sender's.
    static func isPushed(to kind: PlatformKind) -> Bool {
        switch kind.traits.payload {
        case .apple(let use): use == .app
        case .android, .web: kind != .fcmTopic && kind != .webFCM
        case .windows8, .webhook: true
        case .windowsPhone, .bb10: false
        }
    }

    /// The path, which has the capability.
    static func path(_ capability: String) -> String { "/wp/\(capability)" }
}

/// Whether the devices of an application get endpoints for application servers that speak Web Push.
package enum WebPushAccess: String, Sendable, Hashable, CaseIterable {
    case off, on
    /// Application servers have to prove who they are. Source: RFC 8292.
    case vapid
}

/// An endpoint as its device or an operator asks for it.
struct NewWebPushEndpoint: Admin.Body, Sendable {
    static let fields = ["vapid_public_key", "delivery"]
    private(set) var vapidKey: [UInt8]?
    private(set) var isFetched = false

    mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
        switch field {
        case "vapid_public_key":
            guard let text = try reader.string(field) else { return }
            guard let key = VAPIDCredentials.key(text) else {
                throw InvalidInput(
                    field: field, "has to be an uncompressed point of P-256 in Base64 for URLs, 65 bytes")
            }
            vapidKey = key
        default:
            switch try reader.string(field) {
            case nil, "push": isFetched = false
            case "fetch": isFetched = true
            case let other?: throw .choice(field, other, of: ["push", "fetch"])
            }
        }
    }

    func check(on kind: PlatformKind, _ access: WebPushAccess) throws {
        guard access != .off else { throw APIError.noWebPush }
        guard access != .vapid || vapidKey != nil else {
            throw InvalidInput(
                field: "vapid_public_key",
                "is missing: the application demands that application servers identify themselves")
        }
        guard isFetched || WebPushEndpoint.isPushed(to: kind) else {
            throw InvalidInput(
                field: "delivery",
                "is push, and devices of type \(kind.rawValue) take no messages of others: fetch is possible")
        }
    }
}

extension APIError {
    static let noWebPush = APIError(.forbidden, "Web Push endpoints are switched off for this application")

    /// The setting may be another tomorrow. Mastodon forgets an endpoint for any status of 4xx but 408 and 429. Source: Mastodon,
    /// push_notification_worker.rb.
    static let webPushIsOff = APIError(
        .serviceUnavailable, "Web Push endpoints are switched off for this application", headers: [.retryAfter: "3600"])
}

extension JSONWriter {
    /// - Parameter address: what is shown once, with its name.
    mutating func endpoint(_ endpoint: WebPushEndpoint, showing address: (name: StaticString, text: String)? = nil) {
        integer("endpoint_id", endpoint.key.rawValue)
        if let address { string(address.name, address.text) }
        string("delivery", endpoint.isFetched ? "fetch" : "push")
        string("vapid_public_key", endpoint.vapidKey.map(VAPIDCredentials.text))
        string("created_at", endpoint.createdAt.text)
    }
}
