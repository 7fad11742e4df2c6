import ArgumentParser
import Crypto
import Foundation
import WebPush

/// Encrypts and signs messages for browsers on one thread, with no network.
struct WebPushRole: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "web-push", shouldDisplay: false)

    @Option var messages: Int
    /// How many push services the browsers named. Each gets a token of its own, signed once.
    @Option var services: Int
    /// Does nothing but the two multiplications on the curve that no sender is spared: a new key pair and its agreement.
    @Flag var agreesOnly = false

    func run() throws {
        let browsers = try (0..<64).map { _ in try Browser() }
        try (agreesOnly ? agree(browsers) : send(browsers)).tell()
    }

    private func send(_ browsers: [Browser]) throws -> Effort {
        let subscriptions = try (0..<messages).map { number in
            let browser = browsers[number % browsers.count]
            return try WebPushSubscription(
                endpoint: "https://push-\(number % services).example.org/wp/\(number)", p256dh: browser.p256dh,
                auth: browser.auth)
        }
        let message = try WebPushMessage(payload: Array(Workload.payload.utf8), ttl: 3_600)
        let vapid = try VAPID(key: VAPIDKey(), subject: "mailto:bench@example.org")
        let now = Int64(Date().timeIntervalSince1970)
        let watch = Effort.Housekeeping()
        var bytes = 0
        for subscription in subscriptions {
            bytes += try message.body(for: subscription).count
            bytes += try vapid.authorization(for: subscription, now: now).utf8.count
        }
        let effort = watch.effort(for: messages)
        guard bytes > messages * Workload.payload.utf8.count else { throw BenchmarkFault("nothing was encrypted") }
        return effort
    }

    private func agree(_ browsers: [Browser]) throws -> Effort {
        let watch = Effort.Housekeeping()
        for number in 0..<messages {
            let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: SymmetricKey(size: .bits256))
            _ = try key.sharedSecretFromKeyAgreement(with: browsers[number % browsers.count].key)
        }
        return watch.effort(for: messages)
    }
}

/// A receiver: its public key, and its secret.
private struct Browser {
    let key: P256.KeyAgreement.PublicKey
    let p256dh: String
    let auth: String

    init() throws {
        key = P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey
        p256dh = key.x963Representation.base64EncodedString()
        auth = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }
}
