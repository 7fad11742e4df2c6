/// A receiver of webhooks on this machine, on any path.
package typealias WebhookSimulator = ServiceSimulator<WebhookService>

/// How a simulated receiver of webhooks listens and what it requires.
package struct WebhookConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The secret that sender and receiver share.
    package var secret = Array("belfry simulated webhook secret".utf8)
    package var signature = Signature.standardWebhooks
    /// The largest difference of the sender's clock, in seconds.
    package var skewMaxSeconds: Int64 = 300
    /// The key of the devices in the JSON body: an array of tokens, or of objects with a `token`.
    package var devicesKey = "devices"

    /// How a message is signed with HMAC-SHA256.
    package enum Signature: Sendable {
        /// `webhook-id`, `webhook-timestamp` and `webhook-signature: v1,<base64>` over id, timestamp and body,
        /// separated by dots. Source: standardwebhooks.com, specification.
        case standardWebhooks
        /// A field with a prefix and the signature in hex, over the timestamp of another field, a dot, and the body; or
        /// over the body alone where no timestamp is named.
        case hex(field: String, prefix: String, timestampField: String?)
    }

    package init() {}
}
