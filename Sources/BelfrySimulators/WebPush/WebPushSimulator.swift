/// A Web Push service on this machine, with its browsers.
package typealias WebPushSimulator = ServiceSimulator<WebPushService>

extension ServiceSimulator where S == WebPushService {
    /// Makes a subscription, as a browser does when a page asks for one.
    ///
    /// - Parameter applicationServerKey: the VAPID key of the page; only its owner may push then. nil accepts any
    ///   sender.
    package func subscribe(applicationServerKey: String? = nil) -> WebPushSubscription {
        subscribe(1, applicationServerKey: applicationServerKey)[0]
    }

    /// Makes many subscriptions. They are cheap: receivers' keys are shared between them.
    package func subscribe(_ count: Int, applicationServerKey: String? = nil) -> [WebPushSubscription] {
        service.subscribers.add(count, applicationServerKey: applicationServerKey)
            .map { service.subscribers.subscription($0, at: url) }
    }
}

/// How a simulated Web Push service listens and what it requires.
package struct WebPushConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The service whose answers it imitates.
    package var dialect = WebPushDialect.plain
    /// Whether messages without VAPID are refused, whatever their subscription.
    package var requiresVAPID = true
    /// Whether a VAPID token must name a contact; nil follows the dialect's service.
    package var requiresSubject: Bool?
    /// Source: RFC 8030 §7.2: a service need not accept more than 4096 octets.
    package var bodyBytesMax = 4096
    /// A longer TTL is reduced to this, and the answer says so.
    package var ttlSecondsMax: Int64 = 2_592_000
    /// Answers 400 `Undecryptable` to what the receiver cannot decrypt. A real service cannot tell and answers 201.
    package var refusesUndecryptable = true
    /// Whether messages are opened at all, which costs more than all else; without it the ledger has no payloads.
    package var opensMessages = true
    /// The receivers' keys, assigned to subscriptions in turn; empty makes eight.
    package var receivers: [WebPushReceiver] = []
    /// Messages to one subscription in a minute; nil for no limit.
    package var messagesPerMinute: Int?
    /// Messages of one sender in a minute, to all subscriptions together, as a service limits what comes from an origin's key;
    /// nil is without end.
    package var messagesPerMinuteOfSender: Int?

    package init() {}
}

/// The push services whose answers a simulator can imitate.
package enum WebPushDialect: String, Sendable, CaseIterable {
    /// Bare status codes, as RFC 8030 has them.
    case plain
    case mozilla
    case google
    case apple
    case microsoft
}

/// A subscription, as a browser gives it to a page.
package struct WebPushSubscription: Sendable, Equatable {
    /// The name for the script and the ledger.
    package var id: String
    package var endpoint: String
    /// The receiver's public key, uncompressed, in base64url.
    package var p256dh: String
    /// The receiver's secret, in base64url.
    package var auth: String

    /// The subscription in the form of `PushSubscription.toJSON()`.
    package var json: String {
        #"{"endpoint":\#(endpoint.quoted),"expirationTime":null,"keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}"#
    }
}
