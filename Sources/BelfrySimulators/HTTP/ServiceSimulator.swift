package import NIOCore
import NIOPosix
import Synchronization

/// A push provider on this machine: its HTTP, its checks and answers, a script of faults and a ledger of what arrived.
///
/// ```swift
/// let simulator = try await FCMSimulator.start()
/// simulator.script.answer(ScriptedAnswer("UNREGISTERED"), for: [token])
/// // … send to simulator.url, trusting simulator.trustRootPEM …
/// #expect(simulator.ledger.totals().told == 1)
/// ```
package final class ServiceSimulator<S: SimulatedProvider>: Sendable {
    package typealias Configuration = S.Configuration

    package let port: Int
    /// Deviations from proper answers.
    package var script: ServiceCurrentScript { handler.currentScript }
    /// The record of what arrived.
    package var ledger: Ledger { handler.ledger }
    /// Signs the server's certificate.
    package let authority: CertificateAuthority
    /// The provider's own state: accounts, subscriptions, access tokens.
    package let service: S

    let handler: ServiceHandler
    private let group: any EventLoopGroup
    private let ownsGroup: Bool
    private let connectionSetup: ServiceConnectionSetup
    private let channels: Mutex<Channels>

    private struct Channels {
        var front: (any Channel)?
        var control: (any Channel)?
        /// While there is no front.
        var held: HeldPort?
    }

    /// - Parameter group: the event loops of connections; nil makes a group of two threads, ended by ``shutdown()``.
    package static func start(
        _ configuration: Configuration = Configuration(), group: (any EventLoopGroup)? = nil
    ) async throws -> ServiceSimulator<S> {
        let loops = group ?? MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let authority = try configuration.listening.authority ?? CertificateAuthority()
        let service = try S(configuration)
        let handler = ServiceHandler(habits: S.habits, listening: configuration.listening, tokenText: S.tokenText)
        let connectionSetup = try ServiceConnectionSetup(
            handler: handler, provider: service, authority: authority,
            clientCertificates: configuration.clientCertificates)
        let front = try await connectionSetup.listen(port: configuration.listening.port, group: loops)
        let simulator = ServiceSimulator(
            service, handler, authority, connectionSetup, loops, ownsGroup: group == nil, front)
        if let port = configuration.listening.controlPort {
            let control = try await ControlPort.open(
                host: configuration.listening.host, port: port, group: loops, routes: ServiceControl(simulator).routes)
            simulator.channels.withLock { $0.control = control }
        }
        return simulator
    }

    private init(
        _ service: S, _ handler: ServiceHandler, _ authority: CertificateAuthority,
        _ connectionSetup: ServiceConnectionSetup,
        _ group: any EventLoopGroup, ownsGroup: Bool, _ front: any Channel
    ) {
        self.service = service
        self.handler = handler
        self.authority = authority
        self.connectionSetup = connectionSetup
        self.group = group
        self.ownsGroup = ownsGroup
        self.port = front.localAddress?.port ?? handler.listening.port
        self.channels = Mutex(Channels(front: front))
    }

    package var controlPort: Int? { channels.withLock { $0.control?.localAddress?.port } }

    /// The authority that a client has to trust.
    package var trustRootPEM: String { authority.certificatePEM }

    /// The base URL, without a slash at the end.
    package var url: String { "\(handler.listening.isSecure ? "https" : "http")://localhost:\(port)" }

    /// Refuses TCP connections from now on; open ones continue. The port stays the simulator's.
    package func stopListening() async throws {
        let front = channels.withLock { channels in
            defer { channels.front = nil }
            return channels.front
        }
        guard let front else { return }
        let address = front.localAddress
        try await front.close()
        channels.withLock { $0.held = address.flatMap(HeldPort.init) }
    }

    /// Accepts connections again, on the same port.
    package func resumeListening() async throws {
        guard channels.withLock({ $0.front == nil }) else { return }
        channels.withLock { $0.held = nil }
        let front = try await connectionSetup.listen(port: port, group: group)
        channels.withLock { $0.front = front }
    }

    /// Applies a fault to every open HTTP/2 connection now, without waiting for a request.
    ///
    /// For `goAway`, `maxStreams`, `silence` and `close`; the others need a request and do nothing.
    package func act(_ action: ServiceFault.Then) async throws {
        try await handler.connections.each(HTTP2Connection.self) { $0.act(action) }
    }

    /// Stops listening and drops every connection.
    package func shutdown() async throws {
        try await stopListening()
        channels.withLock { $0.held = nil }
        try await channels.withLock { $0.control }?.close()
        try await handler.connections.closeAll()
        if ownsGroup { try await group.shutdownGracefully() }
    }
}
