import Synchronization

/// The subscriptions of a simulated service: their ids, and the senders that may push to them.
package final class Subscribers: Sendable {
    private struct Batch {
        var first: Int
        var applicationServerKey: [UInt8]?
    }

    private struct Held {
        var count = 0
        var batches: [Batch] = []
    }

    struct Subscriber {
        var receiver: WebPushReceiver
        /// The only VAPID key that may push; nil for any.
        var applicationServerKey: [UInt8]?
    }

    private let receivers: [WebPushReceiver]
    private let held = Mutex(Held())

    init(receivers: [WebPushReceiver]) {
        self.receivers = receivers.isEmpty ? (0..<8).map { _ in WebPushReceiver() } : receivers
    }

    func add(_ count: Int, applicationServerKey: String?) -> Range<Int> {
        held.withLock { held in
            let key = applicationServerKey.flatMap { Base64URL.decode($0[...]) }
            held.batches.append(Batch(first: held.count, applicationServerKey: key))
            held.count += count
            return held.count - count..<held.count
        }
    }

    func subscription(_ number: Int, at url: String) -> WebPushSubscription {
        let receiver = receivers[number % receivers.count]
        return WebPushSubscription(
            id: "s\(number)", endpoint: "\(url)/wp/s\(number)", p256dh: Base64URL.encode(receiver.publicKey),
            auth: Base64URL.encode(receiver.auth))
    }

    func find(_ id: String) -> Subscriber? {
        guard id.hasPrefix("s"), let number = Int(id.dropFirst()), number >= 0 else { return nil }
        return held.withLock { held in
            guard number < held.count, let batch = held.batches.last(where: { $0.first <= number }) else { return nil }
            return Subscriber(
                receiver: receivers[number % receivers.count], applicationServerKey: batch.applicationServerKey)
        }
    }
}
