import FoundationEssentials
import HTTPTypes
import KeyFiles
import ServiceLifecycle
import Synchronization

/// Makes endpoints for application servers that speak Web Push, and relays what they post to them.
///
/// A message becomes a push to the endpoint's device, or waits until the device fetches it.
package struct WebPushEndpointService: Sendable {
    let store: any Store
    let pushes: PushService
    package let readers = EndpointReaders()

    /// Returns the capability too: it is shown once.
    func create(
        _ new: NewWebPushEndpoint, for device: Device, on platform: Platform, of application: Application
    ) async throws -> (endpoint: WebPushEndpoint, capability: String) {
        try new.check(on: platform.kind, application.deliveryRules.webPush)
        var random = SystemRandomNumberGenerator()
        let capability = Base64.encode(
            (0..<WebPushEndpoint.capabilityBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        let endpoint = try await store.create(
            new, keyHash: SecretHash.of(capability), for: device, of: application.key)
        return (endpoint, capability)
    }

    /// As `create`, with a line in the audit log.
    func create(
        _ new: NewWebPushEndpoint, for device: Device, on platform: Platform, of application: Application,
        by author: AuditAuthor
    ) async throws -> (endpoint: WebPushEndpoint, capability: String) {
        let change = AuditedChange(
            by: author, "web_push_endpoint.create", device.uuid.lowercased, of: Permission.Subject(application))
        return try await store.audited(change) { try await create(new, for: device, on: platform, of: application) }
    }

    /// Deletes an endpoint with what waits there, with a line in the audit log.
    func delete(
        _ endpoint: Key<WebPushEndpoint>, of device: Device, in application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(
            by: author, "web_push_endpoint.delete", device.uuid.lowercased, of: Permission.Subject(application),
            ["endpoint": "\(endpoint)"])
        try await store.audited(change, orUnknown: "endpoint") { try await store.delete(endpoint, of: device) }
    }

    /// Accepts a message; it is durable when this returns its id. A waiting message of the same topic is replaced.
    ///
    /// Throws `InvalidInput` that is too large where the provider of the device takes less; and a 429 where too many messages wait.
    func accept(
        _ message: EndpointMessage, at endpoint: WebPushEndpoint, on platform: Platform
    ) async throws -> UUID {
        guard !endpoint.isFetched else { return try await keep(message, for: endpoint) }
        let content = try message.content(for: platform.kind, at: endpoint)
        // It goes to this platform alone, whatever others could take.
        try content.check(for: [platform.kind], receiptID: endpoint.device)
        var request = PushRequest(
            content: content, target: try Target(devices: [endpoint.device]), lane: message.lane,
            expiresAt: message.expiry(at: store.clock.now))
        request.isRelayed = true
        let push = try await pushes.send(request, for: endpoint.applicationKey)
        if let topic = message.topic {
            let replaced = try await store.note(
                push.receiptID, expiring: push.expiresAt ?? .distantFuture, as: topic, of: endpoint.key)
            if let replaced { _ = try await retract(replaced, at: endpoint) }
        }
        return push.receiptID
    }

    private func keep(_ message: EndpointMessage, for endpoint: WebPushEndpoint) async throws -> UUID {
        let id = UUID()
        // A device that fetches is not there now.
        guard message.timeToLive > 0 else { return id }
        guard try await store.keep(message, as: id, for: endpoint.key) else {
            throw APIError(
                .tooManyRequests,
                "\(WebPushEndpoint.messagesMax) messages wait for the device, which is the limit; it has to fetch some first",
                headers: [.retryAfter: "600"])
        }
        readers.wake(endpoint.deviceKey)
        return id
    }

    /// The messages that wait at an endpoint, the oldest first. Where there are none it waits for one, until the device waits anew or the
    /// node stops.
    func messages(at endpoint: WebPushEndpoint, wait: Duration) async throws -> [WaitingMessage] {
        guard wait > .zero, endpoint.isFetched else { return try await store.messages(at: endpoint.key) }
        let end = store.clock.now + wait
        let signal = readers.enter(endpoint.deviceKey)
        defer { readers.leave(endpoint.deviceKey, signal) }
        while true {
            let isLast = signal.isClosed
            let found = try await store.messages(at: endpoint.key)
            let rest = end - store.clock.now
            guard found.isEmpty, rest > .zero, !isLast else { return found }
            await signal.wait(atMost: min(rest, Self.pollPause), by: store.clock)
            try Task.checkCancellation()
        }
    }

    /// Other nodes wake no reader of this one.
    private static let pollPause = Duration.seconds(1)

    /// The answer for a message: that of its push, or `pending` while it waits to be fetched; nil where there is none.
    func answer(of id: UUID, at endpoint: WebPushEndpoint) async throws -> Answer? {
        if endpoint.isFetched {
            return try await store.messages(at: endpoint.key).contains { $0.id == id } ? .pending : nil
        }
        guard let push = try await push(id, of: endpoint) else { return nil }
        return try await store.answer(of: endpoint.deviceKey, in: push.key)
    }

    /// Ends the sending of a message that waits; false where there is none. One that was sent already stays sent.
    func retract(_ id: UUID, at endpoint: WebPushEndpoint) async throws -> Bool {
        if endpoint.isFetched { return try await store.deleteMessage(id, at: endpoint.key) }
        guard let push = try await push(id, of: endpoint),
            let answer = try await store.answer(of: endpoint.deviceKey, in: push.key)
        else { return false }
        if answer == .pending { try await pushes.cancel(push.head) }
        return true
    }

    /// The push of a message; nil for a push that did not come by the endpoint, since apps see the ids of all that reach them.
    private func push(_ id: UUID, of endpoint: WebPushEndpoint) async throws -> Push? {
        guard let head = try await store.receipt(id)?.push, head.applicationKey == endpoint.applicationKey,
            let push = try await store.push(head.key),
            push.content.shared.data[EndpointMessage.endpointMember] == .string("\(endpoint.key)")
        else { return nil }
        return push
    }
}

/// The devices that wait for messages on this node, each with one request: a second one ends the first.
package final class EndpointReaders: Service {
    private let signals = Mutex<[Key<Device>: WakeSignal]>([:])
    /// Closed when the node stops, which ends all waits.
    private let stop = WakeSignal()

    init() {}

    package func run() async {
        await withGracefulShutdownHandler {
            await stop.wait()
        } onGracefulShutdown: {
            self.close()
        }
    }

    func close() {
        stop.close()
        for signal in signals.withLock({ Array($0.values) }) { signal.close() }
    }

    /// The signal of a device that begins to wait: raised when a message was stored for it, closed when it should wait no more.
    func enter(_ device: Key<Device>) -> WakeSignal {
        let signal = WakeSignal()
        signals.withLock { $0.updateValue(signal, forKey: device) }?.close()
        if stop.isClosed { signal.close() }
        return signal
    }

    func leave(_ device: Key<Device>, _ signal: WakeSignal) {
        signals.withLock { if $0[device] === signal { $0[device] = nil } }
    }

    func wake(_ device: Key<Device>) { signals.withLock { $0[device] }?.raise() }
}
