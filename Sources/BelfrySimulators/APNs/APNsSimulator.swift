import Foundation
package import NIOCore
import NIOPosix
import Synchronization

/// APNs on this machine: TLS, HTTP/2, Apple's checks and answers, a script of faults and a ledger of what arrived.
///
/// ```swift
/// let simulator = try await APNsSimulator.start()
/// simulator.script.answer(APNsVerdict(.unregistered, timestamp: 1_700_000_000_000), for: [token])
/// // … send to https://127.0.0.1:\(simulator.port), trusting simulator.trustRootPEM …
/// #expect(simulator.ledger.totals().told == 1)
/// ```
package final class APNsSimulator: Sendable {
    package let port: Int
    /// What happens besides proper answers.
    package var script: APNsScriptBook { station.book }
    /// What arrived.
    package var ledger: Ledger { station.ledger }
    /// Signs the server's certificate; makes client certificates.
    package let authority: CertificateAuthority

    let station: APNsStation
    private let group: any EventLoopGroup
    private let ownsGroup: Bool
    private let door: Door
    private let channels: Mutex<Channels>

    private struct Channels {
        var front: (any Channel)?
        var control: (any Channel)?
    }

    /// - Parameter group: where connections live; nil makes a group of two threads, ended by ``shutdown()``.
    package static func start(
        _ configuration: Configuration = Configuration(), group: (any EventLoopGroup)? = nil
    ) async throws -> APNsSimulator {
        let loops = group ?? MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let authority = try configuration.authority ?? CertificateAuthority()
        let station = APNsStation(configuration)
        let door = try Door(station: station, authority: authority)
        let front = try await door.listen(host: configuration.host, port: configuration.port, group: loops)
        let simulator = APNsSimulator(
            station: station, authority: authority, door: door, group: loops, ownsGroup: group == nil, front: front)
        if let port = configuration.controlPort {
            let control = try await ControlPort.open(
                host: configuration.host, port: port, group: loops, routes: APNsControl(simulator).routes)
            simulator.channels.withLock { $0.control = control }
        }
        return simulator
    }

    private init(
        station: APNsStation, authority: CertificateAuthority, door: Door,
        group: any EventLoopGroup, ownsGroup: Bool, front: any Channel
    ) {
        self.station = station
        self.authority = authority
        self.group = group
        self.ownsGroup = ownsGroup
        self.door = door
        self.port = front.localAddress?.port ?? station.configuration.port
        self.channels = Mutex(Channels(front: front))
    }

    package var controlPort: Int? { channels.withLock { $0.control?.localAddress?.port } }

    /// The authority a client has to trust.
    package var trustRootPEM: String { authority.certificatePEM }

    /// Refuses TCP connections from now on; open ones go on.
    package func stopListening() async throws {
        let front = channels.withLock { channels in
            defer { channels.front = nil }
            return channels.front
        }
        try await front?.close()
    }

    /// Takes connections again, on the same port.
    package func resumeListening() async throws {
        guard channels.withLock({ $0.front == nil }) else { return }
        let front = try await door.listen(host: station.configuration.host, port: port, group: group)
        channels.withLock { $0.front = front }
    }

    /// Stops listening and drops every connection.
    package func shutdown() async throws {
        try await stopListening()
        try await channels.withLock { $0.control }?.close()
        try await station.roster.closeAll()
        if ownsGroup { try await group.shutdownGracefully() }
    }
}
