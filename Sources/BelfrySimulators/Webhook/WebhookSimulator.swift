/// A receiver of webhooks on this machine, on any path.
package typealias WebhookSimulator = ServiceSimulator<WebhookService>

/// How a simulated receiver of webhooks listens and what it insists on.
package struct WebhookConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The bytes of the key that sender and receiver share.
    package var secret = Array("belfry simulated webhook secret".utf8)
    package var signature = Signature.standardWebhooks
    /// How far the sender's clock may be wrong, in seconds.
    package var skewMaxSeconds: Int64 = 300
    /// Where in the JSON body the devices stand: an array of tokens, or of objects with a `token`.
    package var devicesKey = "devices"

    /// How a message is signed with HMAC-SHA256.
    package enum Signature: Sendable {
        /// `webhook-id`, `webhook-timestamp` and `webhook-signature: v1,<base64>` over id, timestamp and body with dots
        /// between. Source: standardwebhooks.com, specification.
        case standardWebhooks
        /// A field that holds a prefix and the signature in hex, over the timestamp of another field, a dot, and the body;
        /// or over the body alone where no timestamp is named.
        case hex(field: String, prefix: String, timestampField: String?)
    }

    package init() {}
}
