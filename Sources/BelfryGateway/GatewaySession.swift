import BelfryService
import NIOCore

/// Carries out what one connection brings, in order.
actor GatewaySession {
    private let channel: any Channel
    private let options: GatewayOptions
    private let intake: GatewayIntake
    private let senders: GatewaySenders
    private var platform: Platform?
    /// The identifier of the last record that is durable.
    private var lastAccepted: UInt32 = 0
    private var acceptedAt: ContinuousClock.Instant?
    private var hasEnded = false

    init(_ channel: any Channel, _ options: GatewayOptions, intake: GatewayIntake, senders: GatewaySenders) {
        self.channel = channel
        self.options = options
        self.intake = intake
        self.senders = senders
    }

    func handle(_ event: GatewayInbound) async throws {
        switch event {
        case .certificate(let der):
            // The handshake has asked too, but for a session that is resumed, and a certificate may be revoked since.
            platform = try await senders.platform(of: der)
            if platform == nil { try await channel.close() } else { tell(.admit) }
        case .records(let records): await take(records)
        // Answered beside the events.
        case .requests: return
        case .fault(let fault): end(fault.isSilent ? nil : fault.error)
        case .finished:
            await silence(options.lateVerdicts)
            end(nil)
        case .stopping:
            await silence(options.silence)
            end(GatewayError(.shutdown, identifier: lastAccepted))
        }
    }

    /// Its answer waits for what APNs says.
    func answer(_ request: GatewayRequest) async {
        let (response, id) = await intake.answer(request, on: platform, within: options.verdictWait)
        GatewayMetric.records(1, isAccepted: response.status == 200)
        tell(.respond(response, id: id, stream: request.stream))
    }

    /// Nothing is accepted behind a fault: the sender will send it again.
    private func take(_ records: [GatewayRecord]) async {
        guard let platform, !hasEnded else { return }
        // A verdict that comes later ends the connection.
        let result = await intake.take(records, on: platform) { [channel] error in
            channel.triggerUserOutboundEvent(GatewayCommand.end(error), promise: nil)
        }
        GatewayMetric.records(result.accepted, isAccepted: true)
        if result.accepted > 0 {
            lastAccepted = records[result.accepted - 1].identifier
            acceptedAt = .now
        }
        if let fault = result.fault {
            GatewayMetric.records(1, isAccepted: false)
            end(records[result.accepted].command == .simple ? nil : fault)
        }
        tell(.settled(records.count))
    }

    private func tell(_ command: GatewayCommand) { channel.triggerUserOutboundEvent(command, promise: nil) }

    private func end(_ error: GatewayError?) {
        hasEnded = true
        tell(.end(error))
    }

    /// Waits until the last good record is so long ago that an end does not look like its failure.
    private func silence(_ time: Duration) async {
        guard let acceptedAt else { return }
        try? await Task.sleep(until: acceptedAt + time)
    }
}
