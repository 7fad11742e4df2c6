/// A Web Push service on this machine, and the browsers behind it.
package typealias WebPushSimulator = ServiceSimulator<WebPushService>

extension ServiceSimulator where S == WebPushService {
    /// Makes a subscription, as a browser does when a page asks for one.
    ///
    /// - Parameter applicationServerKey: the VAPID key the page gave; only its owner may push then. nil takes any sender.
    package func subscribe(applicationServerKey: String? = nil) -> WebPushSubscription {
        subscribe(1, applicationServerKey: applicationServerKey)[0]
    }

    /// Makes many subscriptions. They cost nothing to keep: receivers' keys are shared between them.
    package func subscribe(_ count: Int, applicationServerKey: String? = nil) -> [WebPushSubscription] {
        service.subscribers.add(count, applicationServerKey: applicationServerKey)
            .map { service.subscribers.subscription($0, at: url) }
    }
}

/// How a simulated Web Push service listens and what it insists on.
package struct WebPushConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// In whose words it answers.
    package var dialect = WebPushDialect.plain
    /// Whether messages without VAPID are refused, whatever their subscription.
    package var requiresVAPID = true
    /// Whether a VAPID token has to say who to write to; nil is what the dialect's service does.
    package var requiresSubject: Bool?
    /// Source: RFC 8030 §7.2: more than 4096 octets need not be taken.
    package var bodyBytesMax = 4096
    /// A longer TTL is cut to this, and told so.
    package var ttlSecondsMax: Int64 = 2_592_000
    /// Answers 400 `Undecryptable` to what the receiver cannot read. A real service cannot tell and answers 201.
    package var refusesUndecryptable = true
    /// The receivers' keys, dealt out to subscriptions in turn; empty makes eight.
    package var receivers: [WebPushReceiver] = []
    /// Messages to one subscription in a minute; nil is without end.
    package var messagesPerMinute: Int?

    package init() {}
}

/// The push services whose words a simulator can use.
package enum WebPushDialect: String, Sendable, CaseIterable {
    /// Bare status codes, as RFC 8030 has them.
    case plain
    case mozilla
    case google
    case apple
    case microsoft
}

/// What a browser gives to a page.
package struct WebPushSubscription: Sendable, Equatable {
    /// What the script and the ledger call it.
    package var id: String
    package var endpoint: String
    /// The receiver's public key, uncompressed, in base64url.
    package var p256dh: String
    /// The receiver's secret, in base64url.
    package var auth: String

    /// As `PushSubscription.toJSON()` writes it.
    package var json: String {
        #"{"endpoint":\#(endpoint.quoted),"expirationTime":null,"keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}"#
    }
}
