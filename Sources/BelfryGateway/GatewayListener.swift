package import BelfryCore
package import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle
import Synchronization

/// Speaks Apple's binary protocol to old senders; see docs/compatibility/genero.md.
package struct GatewayListener: Service {
    private let address: GatewayAddress
    private let options: GatewayOptions
    private let intake: GatewayIntake
    private let senders: GatewaySenders
    private let logger: Logger

    package init(
        _ address: GatewayAddress, options: GatewayOptions = GatewayOptions(), intake: GatewayIntake,
        store: any GatewayStore & ApplicationStore, clock: any WallClock, logger: Logger
    ) {
        self.address = address
        self.options = options
        self.intake = intake
        senders = GatewaySenders(store: store, clock: clock)
        self.logger = logger
    }

    package func run() async throws {
        let open = OpenChannels()
        let held = HeldRecords(limit: options.heldBytesMax)
        let server = try await TLSServer.bind(address, options) { channel in
            let binary = GatewayHandler(options, held: held)
            try channel.pipeline.syncOperations.addHandlers(GatewayProtocolHandler(binary: binary), binary)
            // Without half closure: a channel without output ends its output at once.
            return try NIOAsyncChannel<GatewayInbound, Never>(wrappingChannelSynchronously: channel)
        }
        await withGracefulShutdownHandler {
            await TLSServer.serve(server) { connection in
                open.add(connection.channel)
                await serve(connection)
                open.remove(connection.channel)
            }
        } onGracefulShutdown: {
            server.channel.close(promise: nil)
            open.stop()
        }
    }

    private func serve(_ connection: NIOAsyncChannel<GatewayInbound, Never>) async {
        let channel = connection.channel
        do {
            try await connection.executeThenClose { inbound in
                try await withThrowingDiscardingTaskGroup { group in
                    var session = Session(channel: channel)
                    for try await event in inbound {
                        if case .requests(let requests) = event {
                            answer(requests, session.platform, on: channel, in: &group)
                        } else {
                            try await handle(event, &session)
                        }
                    }
                    // Nobody waits for the answers any more.
                    group.cancelAll()
                }
            }
        } catch {
            logger.debug("a connection of the gateway ended", metadata: ["error": "\(error)"])
        }
    }

    private func handle(_ event: GatewayInbound, _ session: inout Session) async throws {
        switch event {
        case .certificate(let der, let isHTTP2):
            session.platform = try await senders.platform(of: der)
            if session.platform == nil, !isHTTP2 {
                try await session.channel.close()
            } else {
                session.tell(.admit)
            }
        case .records(let records): await take(records, &session)
        // Answered beside the events.
        case .requests: return
        case .fault(let fault): session.end(fault.isSilent ? nil : fault.error)
        case .finished:
            await session.silence(options.lateVerdicts)
            session.end(nil)
        case .stopping:
            await session.silence(options.silence)
            session.end(GatewayError(.shutdown, identifier: session.lastAccepted))
        }
    }

    /// Each by itself: its answer waits for what APNs says. So many are under way as the connection's handler lets come.
    private func answer(
        _ requests: [GatewayRequest], _ platform: Platform?, on channel: any Channel,
        in group: inout ThrowingDiscardingTaskGroup<any Error>
    ) {
        for request in requests {
            group.addTask {
                let (response, id) = await intake.answer(request, on: platform, within: options.verdictWait)
                GatewayMetric.records(1, isAccepted: response.status == 200)
                channel.triggerUserOutboundEvent(
                    GatewayCommand.respond(response, id: id, stream: request.stream), promise: nil)
            }
        }
    }

    /// Nothing is accepted behind a fault: the sender will send it again.
    private func take(_ records: [GatewayRecord], _ session: inout Session) async {
        guard let platform = session.platform, !session.hasEnded else { return }
        let tell = session.late
        let result = await intake.take(records, on: platform, tell: tell)
        GatewayMetric.records(result.accepted, isAccepted: true)
        if result.accepted > 0 {
            session.lastAccepted = records[result.accepted - 1].identifier
            session.acceptedAt = .now
        }
        if let fault = result.fault {
            GatewayMetric.records(1, isAccepted: false)
            session.end(records[result.accepted].command == .simple ? nil : fault)
        }
        session.tell(.settled(records.count))
    }
}

/// What is known of a connection.
private struct Session {
    let channel: any Channel
    var platform: Platform?
    /// The identifier of the last record that is durable.
    var lastAccepted: UInt32 = 0
    var acceptedAt: ContinuousClock.Instant?
    private(set) var hasEnded = false

    init(channel: any Channel) { self.channel = channel }

    func tell(_ command: GatewayCommand) { channel.triggerUserOutboundEvent(command, promise: nil) }

    mutating func end(_ error: GatewayError?) {
        hasEnded = true
        tell(.end(error))
    }

    /// Ends the connection with a verdict that comes later.
    var late: @Sendable (GatewayError) -> Void {
        { [channel] error in channel.triggerUserOutboundEvent(GatewayCommand.end(error), promise: nil) }
    }

    /// Waits until the last good record is so long ago that an end does not look like its failure.
    func silence(_ time: Duration) async {
        guard let acceptedAt else { return }
        try? await Task.sleep(until: acceptedAt + time)
    }
}

/// The connections that are open.
private final class OpenChannels: Sendable {
    private struct Held {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isStopping = false
    }

    private let held = Mutex(Held())

    func add(_ channel: any Channel) {
        let isStopping = held.withLock { held in
            held.channels[ObjectIdentifier(channel)] = channel
            return held.isStopping
        }
        if isStopping { channel.triggerUserOutboundEvent(GatewayCommand.stop, promise: nil) }
    }

    func remove(_ channel: any Channel) { held.withLock { $0.channels[ObjectIdentifier(channel)] = nil } }

    func stop() {
        let channels = held.withLock { held in
            held.isStopping = true
            return Array(held.channels.values)
        }
        for channel in channels { channel.triggerUserOutboundEvent(GatewayCommand.stop, promise: nil) }
    }
}
