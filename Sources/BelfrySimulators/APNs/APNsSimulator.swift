/// APNs on this machine: TLS, HTTP/2, Apple's checks and answers, a script of faults and a ledger of what arrived.
///
/// ```swift
/// let simulator = try await APNsSimulator.start()
/// simulator.script.answer(ScriptedAnswer(.unregistered, timestamp: 1_700_000_000_000), for: [token])
/// // … send to https://127.0.0.1:\(simulator.port), trusting simulator.trustRootPEM …
/// #expect(simulator.ledger.totals().told == 1)
/// ```
package typealias APNsSimulator = ServiceSimulator<APNsService>

extension ServiceSimulator where S == APNsService {
    package typealias Authentication = APNsAuthentication
    package typealias SigningKey = APNsSigningKey
    package typealias IssuedKey = APNsIssuedKey
}

extension ScriptedAnswer {
    /// An answer of APNs.
    package init(_ reason: APNsReason, timestamp: Int64? = nil, sticky: Bool? = nil) {
        self.init(reason.rawValue, timestamp: timestamp, sticky: sticky)
    }
}

/// How an APNs simulator listens and which senders it accepts.
package struct APNsConfiguration: ServiceConfiguration {
    package var listening = Listening()
    package var authentication = APNsAuthentication.anyToken
    /// Bundle ids that accept pushes; nil for any.
    package var topics: Set<String>?
    /// The sandbox also answers `apns-unique-id`.
    package var isSandbox = false
    /// The value that clients of APNs report of its SETTINGS.
    package var streamsAtOnceMax: UInt32 = 1000
    /// With provider tokens APNs allows one stream until a token has been accepted.
    package var startsWithOneStream = true
    /// The lengths a device token may have, in bytes. Source: Apple, `didRegisterForRemoteNotificationsWithDeviceToken`: they are of
    /// variable length; up to 100 bytes were seen.
    package var tokenBytes: ClosedRange<Int> = 32...100
    /// The existing broadcast channels; an `APNsChannelsSimulator` with the same `ChannelRegistry` creates them.
    package var channels = ChannelRegistry()
    /// Parses the whole payload of each request as JSON, instead of checking its first byte.
    package var parsesPayloads = false

    package init() {}

    package var clientCertificates: ClientCertificates {
        switch authentication {
        case .tokens, .anyToken: .none
        case .anyCertificate: .any
        case .certificates(let trustRootPEM): .signed(byPEM: trustRootPEM)
        }
    }
}

/// How senders authenticate to APNs.
package enum APNsAuthentication: Sendable {
    /// Provider tokens signed by one of these keys.
    case tokens([APNsSigningKey])
    /// Any well-formed provider token, without checking its signature. For benchmarks.
    case anyToken
    /// A TLS client certificate signed by this authority (PEM); nil for the simulator's own.
    case certificates(trustRootPEM: String?)
    /// Any TLS client certificate.
    case anyCertificate

    var isByToken: Bool {
        switch self {
        case .tokens, .anyToken: true
        case .certificates, .anyCertificate: false
        }
    }

    /// The keys to verify with; nil accepts any.
    var knownKeys: [String: APNsSigningKey]? {
        guard case .tokens(let keys) = self else { return nil }
        return Dictionary(keys.map { ($0.keyID, $0) }) { _, last in last }
    }
}
