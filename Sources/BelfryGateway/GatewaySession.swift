import BelfryService
import Metrics
package import NIOCore
package import NIOSSL
import Synchronization

/// Carries out what one connection brings, in order.
actor GatewaySession {
    private let channel: any Channel
    private let options: GatewayOptions
    private let intake: GatewayIntake
    private let senders: GatewaySenders
    private var certificate: [UInt8] = []
    private var platform: Platform?
    private var lookedUpAt = Instant.zero
    /// The last word of a planned stop, which names the last durable record. nil before there is one, and behind one of command 0.
    private var shutdown: GatewayError?
    private var acceptedAt: ContinuousClock.Instant?
    /// Whether the last word is said: by a verdict, which may come at any time, or here.
    private nonisolated let isOver = Mutex(false)

    init(_ channel: any Channel, _ options: GatewayOptions, intake: GatewayIntake, senders: GatewaySenders) {
        self.channel = channel
        self.options = options
        self.intake = intake
        self.senders = senders
    }

    func handle(_ event: GatewayInbound) async throws {
        guard !hasEnded else { return }
        switch event {
        case .certificate(let der):
            // The handshake has asked too, but for a session that is resumed, and a certificate may be revoked since.
            certificate = der
            try await lookUp()
            if platform == nil { try await channel.close() } else { tell(.admit) }
        case .records(let records): await take(records)
        // Answered beside the events.
        case .requests: return
        case .fault(let fault):
            GatewayMetric.records(1, isAccepted: false)
            end(fault.isSilent ? nil : fault.error)
        case .finished:
            await silence(options.lateVerdicts)
            end(nil)
        case .stopping:
            await silence(options.silence)
            end(shutdown)
        }
    }

    /// Its answer waits for what APNs says.
    func answer(_ request: GatewayRequest) async {
        let (response, id) = await intake.answer(request, on: await currentPlatform, within: options.verdictWait)
        GatewayMetric.records(1, isAccepted: response.status == 200)
        tell(.respond(response, id: id, stream: request.stream))
    }

    /// Nothing is accepted behind a fault: the sender will send it again.
    private func take(_ records: [GatewayRecord]) async {
        guard let platform = await currentPlatform else { return end(shutdown) }
        // A verdict that comes later ends the connection, if it is still there.
        let result = await intake.take(
            records, on: platform, tell: { [weak self] in self?.end($0) }, isOver: { self.hasEnded })
        GatewayMetric.records(result.accepted, isAccepted: true)
        if result.accepted > 0 {
            let last = records[result.accepted - 1]
            shutdown = last.command == .simple ? nil : GatewayError(.shutdown, identifier: last.identifier)
            acceptedAt = .now
        }
        if let fault = result.fault, !hasEnded {
            GatewayMetric.records(1, isAccepted: false)
            end(records[result.accepted].command == .simple ? nil : fault)
        }
        tell(.settled(records.count))
    }

    private func lookUp() async throws {
        lookedUpAt = senders.clock.now
        platform = try await senders.platform(of: certificate)
    }

    /// The platform of the certificate, which may be revoked or expire while the connection is open. What was found last counts while the
    /// database cannot be read.
    private var currentPlatform: Platform? {
        get async {
            if lookedUpAt + options.certificateTrust <= senders.clock.now { try? await lookUp() }
            return platform
        }
    }

    private nonisolated func tell(_ command: GatewayCommand) {
        channel.triggerUserOutboundEvent(command, promise: nil)
    }

    private nonisolated var hasEnded: Bool { isOver.withLock { $0 } }

    private nonisolated func end(_ error: GatewayError?) {
        isOver.withLock { $0 = true }
        tell(.end(error))
    }

    /// Waits until the last good record is so long ago that an end does not look like its failure.
    private func silence(_ time: Duration) async {
        guard let acceptedAt else { return }
        try? await Task.sleep(until: acceptedAt + time)
    }
}

/// The metrics of the gateway; docs/Metrics.md explains them.
package enum GatewayMetric {
    static func records(_ count: Int, isAccepted: Bool) {
        Counter(label: "belfry_gateway_records_total", dimensions: [("result", isAccepted ? "accepted" : "refused")])
            .increment(by: count)
    }

    /// Makes all series, so that the page shows them from the start with 0, on servers without a gateway too.
    package static func declare() {
        for isAccepted in [true, false] { records(0, isAccepted: isAccepted) }
    }
}

package struct GatewayOptions: Sendable {
    /// Records of a connection that are not durable yet; then no more are read.
    package var window = 1_000
    /// The most bytes held for all connections together; those of one address may have a quarter of it. Requests of HTTP/2 count too.
    package var heldBytesMax = 64 << 20
    /// How long a record may take from its first byte to its last.
    package var recordTimeout = TimeAmount.seconds(30)
    /// How long a request of HTTP/2 may take until it is whole, and its answer until the sender has taken it.
    package var streamTimeout = TimeAmount.seconds(10)
    /// How long a sender may read nothing that it is answered.
    package var writeTimeout = TimeAmount.seconds(30)
    package var handshakeTimeout = TimeAmount.seconds(10)
    /// How long a certificate counts until it is looked up again.
    package var certificateTrust = Duration.seconds(30)
    /// How long a connection may be silent.
    package var idleTimeout = TimeAmount.minutes(15)
    /// How long a connection stays open for a sender that reads after the last word.
    package var drain = TimeAmount.seconds(2)
    /// How long a connection stays open after a good record: Genero's provider takes an end within 2 s for a failure.
    package var silence = Duration.milliseconds(2_500)

    /// How long refusals of APNs are still sent after the last record of a sender that has closed its side.
    package var lateVerdicts = Duration.seconds(10)

    /// How long the answer to a request of HTTP/2 waits for what APNs says of the device; then it says that the push was taken.
    package var verdictWait = Duration.seconds(5)

    package init() {}
}

/// The address of a listener of the gateway, and the callers that it lets in.
package struct GatewayAddress: Sendable {
    package let host: String
    package let port: Int
    /// The context of new connections; it asks for client certificates.
    package let context: @Sendable () -> NIOSSLContext
    /// False when there are too many connections already.
    package let enter: @Sendable (SocketAddress?) -> Bool
    /// Called for each connection that was let in, when it is over.
    package let left: @Sendable (SocketAddress?) -> Void
    /// Called once, with the channel that listens.
    package let opened: @Sendable (any Channel) -> Void

    package init(
        host: String, port: Int, context: @escaping @Sendable () -> NIOSSLContext,
        enter: @escaping @Sendable (SocketAddress?) -> Bool, left: @escaping @Sendable (SocketAddress?) -> Void,
        opened: @escaping @Sendable (any Channel) -> Void
    ) {
        self.host = host
        self.port = port
        self.context = context
        self.enter = enter
        self.left = left
        self.opened = opened
    }
}
