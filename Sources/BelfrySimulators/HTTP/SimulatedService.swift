package import NIOCore

/// A push provider as its simulator needs it.
///
/// Everything that providers have in common is done around it: TLS, HTTP, the script, the ledger, the control port.
package protocol SimulatedProvider: Sendable {
    associatedtype Configuration: ServiceConfiguration

    /// How the provider's servers speak HTTP.
    static var habits: HTTPHabits { get }
    /// How scripts and the ledger write the tokens of its devices.
    static var tokenText: Ledger.TokenText { get }

    init(_ configuration: Configuration) throws

    /// The provider's full answer for one of its reasons, as scripts name them; nil when it has no such reason.
    func answer(for reason: String) -> ServiceAnswer?

    /// Serves one connection.
    ///
    /// - Parameter ordinal: counted from 1 since the simulator started.
    func handler(at handler: ServiceHandler, ordinal: Int, overHTTP2: Bool) -> any ChannelHandler
}

/// What most providers do with the requests that come in: they read, check, and answer in their own words.
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

/// What the configurations of all simulated providers share.
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

/// Which TLS certificates a simulator asks its clients for.
package enum ClientCertificates: Sendable {
    case none
    /// One that this authority signed; nil is the simulator's own.
    case signed(byPEM: String?)
    /// Any at all.
    case any
}

/// Where a simulator listens and how much it remembers.
package struct Listening: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes any free port.
    package var port = 0
    /// nil opens no control port; 0 takes any free port.
    package var controlPort: Int?
    /// Without TLS only HTTP/1.1 is spoken.
    package var isSecure = true
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
    /// So many PINGs without a request between end the connection by GOAWAY; nil allows any number.
    package var pingsWithoutRequestMax: Int?
    /// A connection without requests for so long is ended by GOAWAY.
    package var idleMax: Duration?
    /// A connection this old is ended by GOAWAY.
    package var ageMax: Duration?
    /// What GOAWAY says of a reason.
    package var goAwayData: @Sendable (String) -> String = { $0 }
    /// The body of an answer comes in one DATA frame and its end in another, empty one.
    package var endsInEmptyFrame = false

    package init() {}
}
