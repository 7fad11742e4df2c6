import APNs
package import BelfryService
package import FoundationEssentials
import KeyFiles
import NIOSSL

/// The credentials of an iOS platform: key or certificate, the app's topic, and the endpoint. Stored sealed.
package struct APNsPlatformCredentials: PlatformCredentials {
    package let identity: Identity
    /// The bundle id.
    package let topic: String
    /// `https://host` or `https://host:port`; nil for the APNs of the platform's mode.
    package let endpoint: String?
    /// Certificates in PEM to trust instead of the system's.
    package let trustRootsPEM: String?
    /// The endpoint for managing broadcast channels; see `endpoint`.
    package let channelsEndpoint: String?

    package enum Identity: Sendable, Hashable, Codable {
        case key(p8: String, keyID: String, teamID: String)
        /// A file as it was entered, and as older versions stored it.
        case certificate(p12: [UInt8], passphrase: String)
        /// The contents of the file: certificates in DER, that of the key first, and PKCS#8 in DER.
        case pair(certificates: [Data], key: Data)
    }

    package init(
        identity: Identity, topic: String, endpoint: String? = nil, trustRootsPEM: String? = nil,
        channelsEndpoint: String? = nil
    ) {
        self.identity = identity
        self.topic = topic
        self.endpoint = endpoint
        self.trustRootsPEM = trustRootsPEM
        self.channelsEndpoint = channelsEndpoint
    }

    package func opened() throws(InvalidInput) -> Self {
        guard case .certificate(let p12, let passphrase) = identity else { return self }
        do throws(KeyFileError) {
            let file = try PKCS12File(p12, passphrase: passphrase)
            return Self(
                identity: .pair(certificates: file.certificates.map { Data($0) }, key: Data(file.key)), topic: topic,
                endpoint: endpoint, trustRootsPEM: trustRootsPEM, channelsEndpoint: channelsEndpoint)
        } catch {
            throw InvalidInput(
                field: error.kind == .passphrase ? "passphrase" : "apns_certificate", "cannot be used: \(error.reason)")
        }
    }

    /// Throws `InvalidInput` with the reason when APNs could not be reached with these.
    package func check(mode: Platform.Mode, now: Instant) throws(InvalidInput) {
        guard !topic.isEmpty, topic.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidInput(field: "topic", "has to be a bundle id, without spaces")
        }
        let credentials = try open(now: now)
        // A certificate for VoIP only names the topic with its suffix.
        if let named = credentials.topic, !APNsPushType.allCases.contains(where: { named == topic + $0.topicSuffix }) {
            throw InvalidInput(field: "topic", "is \(topic), the certificate is for \(named)")
        }
        _ = try address(mode: mode)
        _ = try channelsAddress(mode: mode)
    }

    package func check(for kind: PlatformKind) throws(InvalidInput) {
        let isMDM = topic.hasPrefix("com.apple.mgmt.")
        guard isMDM == (kind == .apple(.mdm)) else {
            throw InvalidInput(
                field: "topic",
                isMDM
                    ? "is \(topic), which is for platforms of type ios-mdm"
                    : "is \(topic), type ios-mdm takes one that begins with com.apple.mgmt.")
        }
        guard channelsEndpoint == nil || kind == .apple(.broadcast) else {
            throw InvalidInput(
                field: "channels_endpoint",
                "has no meaning for type \(kind.rawValue), channels are those of ios-broadcast")
        }
        if case .key = identity { return }
        guard kind == .apple(.location) else { return }
        throw InvalidInput(
            field: "apns_certificate", "cannot authenticate location pushes; use a signing key")
    }

    package func published() -> [String: String] {
        var published = ["topic": topic]
        published["warning"] = topicOddity.map { "topic is \(topic), \($0)" }
        switch identity {
        case .key(_, let keyID, let teamID):
            published["key_id"] = keyID
            published["team_id"] = teamID
        case .certificate: break
        case .pair(let certificates, _):
            guard let leaf = certificates.first, let facts = APNsCertificateFacts(der: Array(leaf)) else { break }
            published["certificate_subject"] = facts.subject
            published["certificate_topic"] = facts.topic
            published["certificate_environments"] =
                facts.environments.isEmpty ? nil : facts.environments.joined(separator: ", ")
        }
        return published
    }

    /// Why APNs will hardly know the topic; nil for what looks like a bundle id.
    private var topicOddity: String? {
        if topic.contains("*") { return "which is an App ID for several apps: APNs wants the bundle id of one" }
        let first = topic.prefix { $0 != "." }
        if first.utf8.count == 10, first.utf8.allSatisfy({ 0x41...0x5A ~= $0 || 0x30...0x39 ~= $0 }) {
            return "which seems to begin with the team's id: APNs wants the bundle id alone"
        }
        let suffix = APNsPushType.allCases.map(\.topicSuffix).first { !$0.isEmpty && topic.hasSuffix($0) }
        return suffix.map {
            "and \($0) is added where a platform's type needs it: the bundle id alone belongs here. If this is the bundle id "
                + "itself, enter \(topic)\($0) for such a type"
        }
    }

    package func expiry(now: Instant) -> Instant? {
        guard case .pair(let certificates, _) = identity, let leaf = certificates.first,
            let certificate = try? NIOSSLCertificate(bytes: Array(leaf), format: .der)
        else { return nil }
        return Instant(milliseconds: Int64(certificate.notValidAfter) * 1_000)
    }

    package func makeProvider(
        for platform: Platform, with dependencies: ProviderDependencies
    ) throws -> any DrainableProvider {
        try APNsProvider(platform, self, with: dependencies)
    }

    func open(now: Instant) throws(InvalidInput) -> APNsCredentials {
        do throws(APNsCredentialsError) {
            switch identity {
            case .key(let p8, let keyID, let teamID):
                return try .token(p8: p8, keyID: keyID, teamID: teamID)
            case .certificate(let p12, let passphrase):
                return try .certificate(p12: p12, passphrase: passphrase, now: now.milliseconds / 1_000)
            case .pair(let certificates, let key):
                return try .certificate(
                    chain: certificates.map { Array($0) }, key: Array(key), now: now.milliseconds / 1_000)
            }
        } catch {
            throw InvalidInput(field: field(of: error), "cannot be used: \(error.reason)")
        }
    }

    func address(mode: Platform.Mode) throws(InvalidInput) -> APNsEndpoint {
        try address(endpoint, field: "endpoint", or: mode == .production ? .production : .sandbox)
    }

    func channelsAddress(mode: Platform.Mode) throws(InvalidInput) -> APNsEndpoint {
        try address(
            channelsEndpoint, field: "channels_endpoint", or: mode == .production ? .channels : .sandboxChannels)
    }

    private func address(
        _ entered: String?, field: String, or standard: APNsEndpoint
    ) throws(InvalidInput) -> APNsEndpoint {
        var address = standard
        if let entered {
            let origin = try Origin(entered, field: field)
            address = APNsEndpoint(host: origin.host, port: origin.port)
        }
        address.trustRoots = trustRootsPEM.map { Array($0.utf8) }
        return address
    }

    private func field(of error: APNsCredentialsError) -> String {
        switch error.code {
        case .keyIdentifier: "key_id"
        case .teamIdentifier: "team_id"
        case .passphrase: "passphrase"
        case .trustRoots: "trust_root"
        default: if case .key = identity { "apns_key" } else { "apns_certificate" }
        }
    }

    package static let families = [ProviderFamily.apns]
    package static let fields = [
        "topic", "apns_key", "key_id", "team_id", "apns_certificate", "passphrase", "endpoint", "trust_root",
        "channels_endpoint",
    ]

    /// Reads entered fields: `topic` with `apns_key` (PEM), `key_id` and `team_id`, or with `apns_certificate` (a p12
    /// in Base64) and `passphrase`. `endpoint`, `channels_endpoint` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "APNs", known: Self.fields)
        var values: [String: String] = [:]
        for field in Self.fields { values[field] = try fields.textIfAny(field) }
        guard let topic = values["topic"] else { throw InvalidInput(field: "topic", "is missing") }
        self.init(
            identity: try Identity(values), topic: topic, endpoint: values["endpoint"],
            trustRootsPEM: values["trust_root"], channelsEndpoint: values["channels_endpoint"])
    }

    package var unguardedAddresses: [String] {
        ["endpoint": endpoint, "channels_endpoint": channelsEndpoint].filter { $1 != nil }.keys.sorted()
    }

    /// The fields that would make these credentials; what was opened is not given again.
    package var entered: [String: JSONValue] {
        var values = ["topic": topic]
        values["endpoint"] = endpoint
        values["trust_root"] = trustRootsPEM
        values["channels_endpoint"] = channelsEndpoint
        switch identity {
        case .key(let p8, let keyID, let teamID):
            values["apns_key"] = p8
            values["key_id"] = keyID
            values["team_id"] = teamID
        case .certificate(let p12, let passphrase):
            values["apns_certificate"] = Data(p12).base64EncodedString()
            values["passphrase"] = passphrase
        case .pair: break
        }
        return values.mapValues { .string($0) }
    }
}

extension APNsPlatformCredentials.Identity {
    fileprivate init(_ values: [String: String]) throws(InvalidInput) {
        switch (values["apns_key"], values["apns_certificate"]) {
        case (let p8?, nil):
            try values.refuse("passphrase", because: "is that of apns_certificate, apns_key has none")
            guard let keyID = values["key_id"], let teamID = values["team_id"] else {
                throw InvalidInput(field: "apns_key", "needs key_id and team_id")
            }
            // Apple's have capital letters alone.
            self = .key(p8: p8, keyID: keyID.asName.uppercased(), teamID: teamID.asName.uppercased())
        case (nil, let p12?):
            for field in ["key_id", "team_id"] { try values.refuse(field, because: "goes with apns_key alone") }
            // PEM is recognized where the file is opened.
            guard let bytes = p12.contains("-----BEGIN ") ? Array(p12.utf8) : Base64.decode(pasted: p12.utf8) else {
                throw InvalidInput(field: "apns_certificate", "is not Base64")
            }
            self = .certificate(p12: bytes, passphrase: values["passphrase"] ?? "")
        case (nil, nil): throw InvalidInput(field: "apns_key", "or apns_certificate is missing")
        case (_?, _?): throw InvalidInput(field: "apns_key", "and apns_certificate exclude each other")
        }
    }
}

extension [String: String] {
    /// Throws `InvalidInput` when a field was entered that has no meaning.
    fileprivate func refuse(_ field: String, because problem: String) throws(InvalidInput) {
        if self[field] != nil { throw InvalidInput(field: field, problem) }
    }
}
