import FoundationEssentials
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
                host: configuration.listening.host, port: port, group: loops,
                routes: ServiceControl(simulator: simulator).routes)
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

/// The parts of a push provider that its simulator needs.
///
/// Everything that providers have in common is outside: TLS, HTTP, the script, the ledger, the control port.
package protocol SimulatedProvider: Sendable {
    associatedtype Configuration: ServiceConfiguration

    /// How the provider's servers speak HTTP.
    static var habits: HTTPHabits { get }
    /// How scripts and the ledger write the tokens of its devices.
    static var tokenText: Ledger.TokenText { get }

    init(_ configuration: Configuration) throws

    /// The provider's complete answer for one of its reasons, as scripts name them; nil when it has no such reason.
    func answer(for reason: String) -> ServiceAnswer?

    /// Serves one connection.
    ///
    /// - Parameter ordinal: counted from 1 since the simulator started.
    func handler(at handler: ServiceHandler, ordinal: Int, overHTTP2: Bool) -> any ChannelHandler
}

/// A provider that reads complete requests, validates them, and answers in its own format.
package protocol SimulatedService: SimulatedProvider {
    /// The answer to a request, and the devices it was about.
    func reply(to request: ServiceRequest, context: inout ServiceContext) -> ServiceReply
}

extension SimulatedService {
    package static var habits: HTTPHabits { HTTPHabits() }
    package static var tokenText: Ledger.TokenText { .plain }

    /// The refusal for a reason of the provider, of one device where its token is known.
    func refuse(_ reason: String, _ token: String? = nil) -> ServiceReply {
        let answer = answer(for: reason) ?? ServiceAnswer(500, reason: reason)
        return token.map { ServiceReply(answer, token: $0) } ?? ServiceReply(answer)
    }

    package func handler(at handler: ServiceHandler, ordinal: Int, overHTTP2: Bool) -> any ChannelHandler {
        overHTTP2
            ? ServiceConnection(handler: handler, ordinal: ordinal, service: self)
            : HTTP1Connection(handler: handler, ordinal: ordinal, service: self)
    }
}

/// The configuration that all simulated providers share.
package protocol ServiceConfiguration: Sendable {
    var listening: Listening { get set }
    var clientCertificates: ClientCertificates { get }
    init()
}

extension ServiceConfiguration {
    package var clientCertificates: ClientCertificates {
        listening.needsClientCertificate ? .signed(byPEM: nil) : .none
    }
}

/// The TLS certificates that a simulator requires of its clients.
package enum ClientCertificates: Sendable {
    case none
    /// A certificate that this authority signed; nil for the simulator's own.
    case signed(byPEM: String?)
    /// Any certificate.
    case any
}

/// How a simulator listens and how much it records.
package struct Listening: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes any free port.
    package var port = 0
    /// nil opens no control port; 0 takes any free port.
    package var controlPort: Int?
    /// Without TLS only HTTP/1.1 is spoken.
    package var isSecure = true
    /// Whether HTTP/2 is offered where the provider speaks it.
    package var offersHTTP2 = true
    /// Whether a connection needs a certificate that ``authority`` signed.
    package var needsClientCertificate = false
    package var ledgerDetail = Ledger.Detail.tokens
    /// The wall clock: time since 1970.
    package var now: @Sendable () -> Duration = WallClock.now
    /// Signs the server's certificate; nil makes a new authority.
    package var authority: CertificateAuthority?

    package init() {}
}

/// How a provider's servers speak HTTP.
package struct HTTPHabits: Sendable {
    package var speaksHTTP2: Bool
    package var speaksHTTP1: Bool
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    package var streamsAtOnceMax: UInt32 = 100
    /// PINGs without a request between them that end the connection by GOAWAY; nil for any number.
    package var pingsWithoutRequestMax: Int?
    /// How long a connection may have no requests before GOAWAY ends it.
    package var idleMax: Duration?
    /// A connection this old is ended by GOAWAY.
    package var ageMax: Duration?
    /// The debug data of a GOAWAY for a reason.
    package var goAwayData: @Sendable (String) -> String = { $0 }
    /// Whether the body of an answer and its end are separate DATA frames, the second one empty.
    package var endsInEmptyFrame = false

    package init(speaksHTTP2: Bool = false, speaksHTTP1: Bool = true) {
        self.speaksHTTP2 = speaksHTTP2
        self.speaksHTTP1 = speaksHTTP1
    }
}

/// The surroundings of a service while it reads one request: the time, and the script's answers for devices.
package struct ServiceContext {
    /// Time since 1970.
    package let now: Duration
    /// Whether the ledger keeps what devices read.
    package let keepsPayloads: Bool
    let compiled: CompiledServiceScript
    let occasion: ArmedServiceFault.Occasion
    private(set) var effects = Effects()
    /// Whether a fault that names no devices has decided the request.
    private var isDecided = false

    /// The script's effects on the request other than its answer.
    struct Effects {
        var answer: ScriptedAnswer?
        /// The answer of all later requests of the connection.
        var sticky: ScriptedAnswer?
        var delay: Int64 = 0
        var ending: Ending?
        var goAway: ServiceFault.GoAway?
        var maxStreams: UInt32?
    }

    /// How a request ends without its answer.
    struct Ending: Equatable {
        enum Kind: Equatable { case hang, stall, silence, reset(code: UInt32), close, loseAnswers(Int) }
        var kind: Kind
        var told: Bool
    }

    init(
        now: Duration, keepsPayloads: Bool = false, compiled: CompiledServiceScript = CompiledServiceScript(),
        occasion: ArmedServiceFault.Occasion = .init(connection: 1), insteadOfScript lasting: Effects? = nil
    ) {
        self.now = now
        self.keepsPayloads = keepsPayloads
        self.compiled = compiled
        self.occasion = occasion
        if let lasting {
            effects = lasting
            isDecided = true
            return
        }
        for armed in compiled.requestFaults where armed.matches(occasion) {
            isDecided = take(armed.fault.then)
            if isDecided { break }
        }
    }

    var seconds: Int64 { now.components.seconds }

    /// The script's answer for a device, if it has one. Called once for each device of a request.
    mutating func scripted(for token: String) -> ScriptedAnswer? {
        guard compiled.namesTokens else { return nil }
        var token = token
        return token.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return matchedAnswer(bytes) ?? compiled.verdict(for: bytes)
        }
    }

    /// The answer of the faults that name this device. Called once for each device of a request.
    mutating func matchedAnswer(_ token: UnsafeRawBufferPointer) -> ScriptedAnswer? {
        guard !isDecided else { return effects.answer }
        for armed in compiled.tokenFaults where armed.matches(occasion, token: token) {
            if case .answer(let answer) = armed.fault.then {
                if answer.sticky == true { effects.sticky = answer }
                return answer
            }
            if take(armed.fault.then) { break }
        }
        return nil
    }

    /// Whether later rules are ignored.
    private mutating func take(_ then: ServiceFault.Then) -> Bool {
        switch then {
        case .answer(let answer):
            effects.answer = answer
            if answer.sticky == true { effects.sticky = answer }
        case .delay(let milliseconds):
            effects.delay += Int64(milliseconds)
            return false
        case .goAway(let goAway):
            effects.goAway = goAway
            return false
        case .maxStreams(let streams):
            effects.maxStreams = streams
            return false
        case .hang(let told): effects.ending = Ending(kind: .hang, told: told ?? true)
        case .stall(let told): effects.ending = Ending(kind: .stall, told: told ?? true)
        case .reset(let code, let told): effects.ending = Ending(kind: .reset(code: code ?? 7), told: told ?? false)
        case .silence(let told): effects.ending = Ending(kind: .silence, told: told ?? true)
        case .loseAnswers(let count): effects.ending = Ending(kind: .loseAnswers(count), told: true)
        case .close(let told): effects.ending = Ending(kind: .close, told: told ?? false)
        case .refuseHandshake: return false
        }
        return true
    }
}

/// The state that all connections of one simulated provider share: the script and the ledger.
package final class ServiceHandler: Sendable {
    let habits: HTTPHabits
    let listening: Listening
    let ledger: Ledger
    let currentScript: ServiceCurrentScript
    let connections = OpenConnections()

    init(habits: HTTPHabits, listening: Listening, tokenText: Ledger.TokenText) {
        let ledger = Ledger(detail: listening.ledgerDetail, tokenText: tokenText)
        self.habits = habits
        self.listening = listening
        self.ledger = ledger
        self.currentScript = ServiceCurrentScript(tokenText: tokenText) { ledger.connectionsEver }
    }

    func recordUnanswered() {
        ledger.recordConnection { $0.unanswered += 1 }
    }
}

// MARK: - Requests that a service validates

extension ServiceHandler {
    /// A request that was read and validated.
    struct ValidatedRequest {
        var reply: ServiceReply
        var effects: ServiceContext.Effects
        /// Whether its devices were notified, except those it refuses.
        var isTold = false

        fileprivate var told: [ServiceDelivery] { reply.deliveries.filter { $0.reason == nil } }
    }

    /// - Parameter lasting: the lasting effect of an earlier request on the connection, in place of the script.
    func validate(
        _ request: ServiceRequest, _ occasion: ArmedServiceFault.Occasion, _ compiled: CompiledServiceScript,
        by service: any SimulatedService, insteadOfScript lasting: ServiceContext.Effects?
    ) -> ValidatedRequest {
        var context = ServiceContext(
            now: listening.now(), keepsPayloads: ledger.detail == .payloads,
            compiled: compiled, occasion: occasion, insteadOfScript: lasting)
        var reply = service.reply(to: request, context: &context)
        var effects = context.effects
        if let scripted = effects.answer { reply.replace(by: scripted.answer(by: service)) }
        effects.delay += compiled.latency
        return ValidatedRequest(reply: reply, effects: effects)
    }

    /// Counts the answers of a request when they are sent.
    func recordAnswer(_ validated: ValidatedRequest) {
        guard validated.reply.isPush else { return }
        let status = validated.reply.answer.status
        let now = listening.now().milliseconds
        if validated.reply.deliveries.isEmpty {
            let entry = LedgerAnswer(status: status, reason: validated.reply.answer.reason)
            Self.withToken("") { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
        for delivery in validated.reply.deliveries {
            let entry = LedgerAnswer(status: status, reason: delivery.reason)
            Self.withToken(delivery.token) { ledger.recordAnswer($0, hash: $1, entry, at: now) }
        }
    }

    /// Counts the devices that a request tells.
    func tell(_ validated: ValidatedRequest, _ fields: [ServiceRequest.Field]) {
        let now = listening.now().milliseconds
        for delivery in validated.told {
            Self.withToken(delivery.token) { token, hash in
                ledger.recordTold(token, hash: hash, id: Self.idHash(delivery), at: now)
                guard ledger.detail == .payloads else { return }
                let headers = fields.filter { $0.name != "authorization" }
                    .map { LedgerRequest.Header(name: $0.name, value: $0.value) }
                ledger.keep(LedgerRequest(headers: headers, payload: delivery.payload), for: token, hash: hash)
            }
        }
    }

    /// Takes back that they were notified.
    func takeBack(_ validated: ValidatedRequest) {
        for delivery in validated.told {
            Self.withToken(delivery.token) { ledger.takeBack($0, hash: $1, id: Self.idHash(delivery)) }
        }
    }

    private static func idHash(_ delivery: ServiceDelivery) -> UInt64? {
        delivery.messageID.map { id in withToken(id) { $1 } }
    }

    private static func withToken<T>(_ token: String, _ body: (UnsafeRawBufferPointer, UInt64) -> T) -> T {
        var token = token
        return token.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return body(bytes, StableHash.hash(bytes))
        }
    }
}

/// The default time of day for simulators.
enum WallClock {
    /// Time since 1970.
    @Sendable static func now() -> Duration {
        .seconds(Date().timeIntervalSince1970)
    }
}

extension Duration {
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
