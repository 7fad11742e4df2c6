package import NIOCore

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
    package static var tokenText: Ledger.TokenText { .plain }

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
    package var speaksHTTP2 = false
    package var speaksHTTP1 = true
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

    package init() {}
}
