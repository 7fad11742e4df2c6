package import BelfryService
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
        store: any Store, clock: any WallClock, logger: Logger
    ) {
        self.address = address
        self.options = options
        self.intake = intake
        senders = GatewaySenders(store: store, clock: clock)
        self.logger = logger
    }

    package func run() async throws {
        let open = OpenChannels()
        let held = HeldBytes(limit: options.heldBytesMax)
        let checks = SenderChecks(senders)
        let server = try await TLSServer.bind(address, options, checks) { channel in
            let share = held.share(of: channel.remoteAddress)
            let binary = GatewayHandler(options, held: share)
            let http2 = GatewayProtocolHandler(binary: binary) { GatewayHTTP2Handler(options, held: share) }
            try channel.pipeline.syncOperations.addHandlers(http2, binary)
            // Without half closure: a channel without output ends its output at once.
            return try NIOAsyncChannel<GatewayInbound, Never>(wrappingChannelSynchronously: channel)
        }
        await withGracefulShutdownHandler {
            async let _: Void = intake.endDeadNewcomers()
            await TLSServer.serve(server, checks) { connection in
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
        do {
            try await connection.executeThenClose { inbound in
                try await withThrowingDiscardingTaskGroup { group in
                    let session = GatewaySession(connection.channel, options, intake: intake, senders: senders)
                    for try await event in inbound {
                        if case .requests(let requests) = event {
                            // Answered beside the events, since each waits for what APNs says. So many are under way as the
                            // connection's handler lets come.
                            for request in requests { group.addTask { await session.answer(request) } }
                        } else {
                            // A task keeps the memory of its deepest calls as long as it lives, as connections do that
                            // wait for minutes.
                            async let handled: Void = session.handle(event)
                            try await handled
                        }
                    }
                    // The answers have no reader any more.
                    group.cancelAll()
                }
            }
        } catch {
            logger.debug("a connection of the gateway ended", metadata: ["error": "\(error)"])
        }
    }
}

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

/// The bytes of records and requests that connections hold and that are not answered yet: for each address, an IPv6 network of /64 as one,
/// and for all together.
final class HeldBytes: Sendable {
    private struct Held {
        var total = 0
        var byAddress: [[UInt8]: Int] = [:]
    }

    private let held = Mutex(Held())
    private let limit: Int

    /// - Parameter limit: for all; an address may have a quarter of it.
    init(limit: Int) { self.limit = limit }

    var total: Int { held.withLock(\.total) }

    /// The part of what one connection holds.
    func share(of address: SocketAddress?) -> Share { Share(self, address: address?.site ?? []) }

    final class Share: Sendable {
        private let all: HeldBytes
        private let address: [UInt8]

        fileprivate init(_ all: HeldBytes, address: [UInt8]) {
            self.all = all
            self.address = address
        }

        /// Then connections that hold any read no more until it is answered.
        var isFull: Bool {
            all.held.withLock { held in
                held.total >= all.limit || held.byAddress[address, default: 0] >= max(1, all.limit / 4)
            }
        }

        func hold(_ count: Int) { change(by: count) }

        func release(_ count: Int) { change(by: -count) }

        private func change(by count: Int) {
            guard count != 0 else { return }
            all.held.withLock { held in
                held.total += count
                let sum = held.byAddress[address, default: 0] + count
                held.byAddress[address] = sum == 0 ? nil : sum
            }
        }
    }
}

extension SocketAddress {
    /// The four bytes of an IPv4 address, the first eight of one of IPv6.
    ///
    /// Source: ip(7) and ipv6(7): `sin_addr` is at byte 4 of its structure, `sin6_addr` at byte 8 of its own.
    fileprivate var site: [UInt8] {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address):
            withUnsafeBytes(of: address.address) { bytes in
                // An IPv4 address at a listener for both. Source: RFC 4291 §2.5.5.2.
                let isMapped = bytes[8..<18].allSatisfy { $0 == 0 } && bytes[18] == 0xFF && bytes[19] == 0xFF
                return Array(isMapped ? bytes[20..<24] : bytes[8..<16])
            }
        case .unixDomainSocket: []
        }
    }
}
