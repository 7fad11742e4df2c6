extension APNsSimulator {
    /// How an APNs simulator listens and whom it believes.
    package struct Configuration: Sendable {
        package var host = "127.0.0.1"
        /// 0 takes any free port.
        package var port = 0
        /// nil opens no control port; 0 takes any free port.
        package var controlPort: Int?
        package var authentication = Authentication.anyToken
        /// Bundle ids that may be pushed to; nil allows any.
        package var topics: Set<String>?
        /// The sandbox also answers `apns-unique-id`.
        package var isSandbox = false
        /// What clients of APNs report of its SETTINGS.
        package var streamsAtOnceMax: UInt32 = 1000
        /// With provider tokens APNs allows one stream until a token has been accepted.
        package var startsWithOneStream = true
        /// The lengths a device token may have, in bytes.
        package var tokenBytes: ClosedRange<Int> = 32...32
        /// The broadcast channels there are; an `APNsChannelsSimulator` with the same book makes them.
        package var channels = ChannelBook()
        package var ledgerDetail = Ledger.Detail.tokens
        /// Reads the whole payload of each request as JSON, instead of looking at its first byte.
        package var parsesPayloads = false
        /// The wall clock: time since 1970.
        package var now: @Sendable () -> Duration = WallClock.now
        /// Signs the server's certificate; nil makes a new authority.
        package var authority: CertificateAuthority?

        package init() {}
    }

    /// How providers prove who they are.
    package enum Authentication: Sendable {
        /// Provider tokens signed by one of these keys.
        case tokens([SigningKey])
        /// Any well-formed provider token, its signature unseen. For benchmarks.
        case anyToken
        /// A TLS client certificate signed by this authority (PEM); nil is the simulator's own.
        case certificates(trustRootPEM: String?)
        /// Any TLS client certificate.
        case anyCertificate

        var isByToken: Bool {
            switch self {
            case .tokens, .anyToken: true
            case .certificates, .anyCertificate: false
            }
        }
    }
}
