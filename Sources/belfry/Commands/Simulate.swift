import ArgumentParser
import BelfryServer
import BelfryService
import BelfrySimulators
import Foundation
import NIOPosix

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulate a push provider, with scripted faults and a ledger of what arrived.",
        subcommands: [
            SimulateAPNs.self, SimulateFCM.self, SimulateWebPush.self, SimulateWNS.self, SimulateMPNS.self,
            SimulateGCM.self, SimulateHMS.self, SimulateADM.self, SimulatePAP.self, SimulateWebhook.self,
        ])
}

struct SimulateAPNs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns", abstract: "Simulate APNs over HTTP/2 and TLS.",
        discussion: """
            Any well-formed provider token is believed, unless --key-out makes the only key that is known. With --certificate-out \
            or --client-ca senders need a client certificate instead of a token. The control port takes the script of faults and \
            shows the ledger: docs/Simulators.md.
            """)

    @Option(help: "The port to serve on; 0 takes any free one.") var port: UInt16 = 0
    @Option(help: "The port of the script and the ledger; 0 takes any free one. [default: none]")
    var controlPort: UInt16?
    @Option(help: "The port of the management of broadcast channels; 0 takes any free one.") var channelsPort: UInt16?
    @Option(help: ArgumentHelp("Write the CA certificate to trust here.", valueName: "ca.pem")) var caOut: String?
    @Option(help: ArgumentHelp("Write a signing key that is known here.", valueName: "key.p8")) var keyOut: String?
    @Option(
        help: ArgumentHelp(
            "Write a client certificate with its key here, the only kind that is known; "
                + "`openssl pkcs12 -export -in client.pem -out client.p12` makes the file that a platform takes.",
            valueName: "client.pem"))
    var certificateOut: String?
    @Option(help: "The topic of --certificate-out, and of the platform that is printed.") var topic = "org.example.app"
    @Option(help: ArgumentHelp("Know the client certificates that this CA signed.", valueName: "ca.pem"))
    var clientCA: String?
    @Option(help: ArgumentHelp("What to keep of each message: totals, tokens or payloads.", valueName: "detail"))
    var ledger = Ledger.Detail.tokens
    @Option(help: "How long each answer takes, in milliseconds.") var latency: UInt32 = 0

    func run() async throws {
        var configuration = APNsSimulator.Configuration()
        configuration.listening.port = Int(port)
        configuration.listening.controlPort = controlPort.map { Int($0) }
        configuration.listening.ledgerDetail = ledger
        let key = APNsSimulator.IssuedKey(p8: SimulatorFiles.contents(of: keyOut))
        if keyOut != nil { configuration.authentication = .tokens([key.known]) }
        let authority = try SimulatorFiles.authority(at: caOut)
        configuration.listening.authority = authority
        if let certificates = try certificates(of: authority) { configuration.authentication = certificates }
        let simulator = try await APNsSimulator.open(configuration)
        if latency > 0 { simulator.script.set(ServiceScript(latencyMilliseconds: Int(latency))) }
        if let keyOut { try SimulatorFiles.write(key.p8 + "\n", to: keyOut) }
        print("port \(simulator.port)")
        if let controlPort = simulator.controlPort { print("control-port \(controlPort)") }
        if let channelsPort { print("channels-port \(try await channels(on: channelsPort, configuration, key).port)") }
        if let keyOut {
            print("key-id \(key.keyID)\nteam-id \(key.teamID)")
            if let caOut { print("create \(creation(key, keyOut, caOut, port: simulator.port))") }
        }
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    private func creation(_ key: APNsSimulator.IssuedKey, _ keyFile: String, _ caFile: String, port: Int) -> String {
        SimulatorFiles.creation(
            of: "ios", name: "APNs",
            options: [
                ("topic", topic), ("apns-key", keyFile), ("key-id", key.keyID), ("team-id", key.teamID),
                ("endpoint", "https://localhost:\(port)"), ("trust-root", caFile),
            ])
    }

    /// The client certificates that the handshake asks for; nil for provider tokens.
    private func certificates(of authority: CertificateAuthority) throws -> APNsSimulator.Authentication? {
        if let clientCA {
            return .certificates(trustRootPEM: try String(contentsOfFile: clientCA, encoding: .utf8))
        }
        guard let certificateOut else { return nil }
        let client = try authority.issueClient(topic: topic)
        try SimulatorFiles.write(client.certificatePEM + "\n" + client.privateKeyPEM + "\n", to: certificateOut)
        return .certificates(trustRootPEM: nil)
    }

    func validate() throws {
        guard [keyOut, certificateOut, clientCA].count(where: { $0 != nil }) <= 1 else {
            throw ValidationError("give one of --key-out, --certificate-out and --client-ca")
        }
    }

    private func channels(
        on port: UInt16, _ apns: APNsSimulator.Configuration, _ key: APNsSimulator.IssuedKey
    ) async throws -> APNsChannelsSimulator {
        var configuration = APNsChannelsConfiguration()
        configuration.listening.port = Int(port)
        configuration.listening.authority = apns.listening.authority
        configuration.channels = apns.channels
        if keyOut != nil { configuration.keys = [key.known] }
        return try await APNsChannelsSimulator.open(configuration)
    }
}

extension Ledger.Detail: ExpressibleByArgument {
    public static var allValueStrings: [String] { [totals, tokens, payloads].map(\.rawValue) }
}

/// The options of all simulated providers except APNs.
struct SimulatorOptions: ParsableArguments {
    @Option(help: "The port to serve on; 0 takes any free one.") var port: UInt16 = 0
    @Option(help: "The port of the script and the ledger; 0 takes any free one. [default: none]")
    var controlPort: UInt16?
    @Option(help: ArgumentHelp("Write the CA certificate to trust here.", valueName: "ca.pem")) var caOut: String?
    @Option(help: ArgumentHelp("Write the credentials that are known here.", valueName: "file")) var credentialsOut:
        String?
    @Flag(help: "Keep what arrives, not only counts by device.") var keepPayloads = false
    @Option(help: "How long each answer takes, in milliseconds.") var latency: UInt32 = 0

    /// Runs the simulated provider until the process ends.
    ///
    /// - Parameters:
    ///   - facts: the addresses and the like, to be printed; a file of its own holds the credentials.
    ///   - credentials: for `--credentials-out`.
    func play<S: SimulatedService>(
        _ service: S.Type, _ configuration: S.Configuration = S.Configuration(),
        facts: (ServiceSimulator<S>) -> [(name: String, value: String)],
        credentials: (ServiceSimulator<S>) -> String = { _ in "" }
    ) async throws {
        var configuration = configuration
        configuration.listening.port = Int(port)
        configuration.listening.controlPort = controlPort.map { Int($0) }
        configuration.listening.authority = try SimulatorFiles.authority(at: caOut)
        if keepPayloads { configuration.listening.ledgerDetail = .payloads }
        let simulator = try await ServiceSimulator<S>.open(configuration)
        if latency > 0 { simulator.script.set(ServiceScript(latencyMilliseconds: Int(latency))) }
        try credentialsOut.map { try SimulatorFiles.write(credentials(simulator), to: $0) }
        print("port \(simulator.port)")
        if let controlPort = simulator.controlPort { print("control-port \(controlPort)") }
        for fact in facts(simulator) { print("\(fact.name) \(fact.value)") }
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    /// The account in the file of an earlier start.
    func account(of projectID: String) -> ServiceAccount? {
        SimulatorFiles.contents(of: credentialsOut).flatMap { ServiceAccount(projectID: projectID, json: $0) }
    }

    /// The command that makes a platform of the files; none unless both are written.
    func creation(of kind: PlatformKind, name: String, endpoint: String) -> [(name: String, value: String)] {
        guard let caOut, let account = credentialsOut else { return [] }
        let line = SimulatorFiles.creation(
            of: kind.rawValue, name: name,
            credentials: [
                ("service_account", "@\(account)"), ("endpoint", endpoint), ("trust_root", "@\(caOut)"),
            ])
        return [("create", line)]
    }
}

struct SimulateFCM: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fcm", abstract: "Simulate FCM: the token endpoint and HTTP v1.",
        discussion: "The credentials are the JSON file of a service account.")
    @OptionGroup var options: SimulatorOptions
    @Flag(help: "Accept any bearer token and set no quotas, for benchmarks.") var believing = false

    func run() async throws {
        var configuration = FCMSimulator.Configuration()
        if believing {
            configuration.believesAnyToken = true
            configuration.messagesPerMinute = nil
            configuration.deviceMessagesPerMinute = nil
            configuration.deviceMessagesPerHour = nil
        }
        configuration.account = options.account(of: configuration.projectID)
        let options = options
        try await options.play(
            FCMService.self, configuration,
            facts: {
                [("endpoint", $0.url), ("send", $0.sendURL), ("project-id", $0.projectID)]
                    + options.creation(of: .androidFCM, name: "FCM", endpoint: $0.url)
            }, credentials: { $0.serviceAccountJSON })
    }
}

struct SimulateWebPush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webpush", abstract: "Simulate a Web Push service and the browsers behind it.",
        discussion: "The credentials are subscriptions as browsers give them, one JSON object a line.")
    @OptionGroup var options: SimulatorOptions
    @Option(help: "How many subscriptions to make.") var subscriptions: UInt32 = 1
    @Option(help: "In whose words to answer: plain, mozilla, google, apple, microsoft.") var dialect = "plain"
    @Flag(help: "Ask for no VAPID token and open no message, for benchmarks.") var believing = false
    @Flag(help: "Offer HTTP/1.1 alone.") var http1 = false

    func run() async throws {
        var configuration = WebPushSimulator.Configuration()
        guard let dialect = WebPushDialect(rawValue: dialect) else {
            throw ValidationError("--dialect: \(dialect) is not plain, mozilla, google, apple or microsoft")
        }
        configuration.dialect = dialect
        configuration.requiresVAPID = !believing
        configuration.opensMessages = !believing
        configuration.listening.offersHTTP2 = !http1
        let count = Int(subscriptions)
        try await options.play(
            WebPushService.self, configuration, facts: { [("endpoints", "\($0.url)/wp/")] },
            credentials: { simulator in
                simulator.subscribe(count).map { "\($0.json)\n" }.joined()
            })
    }
}

struct SimulateWNS: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wns", abstract: "Simulate WNS: both token endpoints and its channels.")
    @OptionGroup var options: SimulatorOptions
    @Flag(help: "Believe any bearer token, for benchmarks.") var believing = false

    func run() async throws {
        var configuration = WNSSimulator.Configuration()
        configuration.believesAnyToken = believing
        try await options.play(WNSService.self, configuration) { simulator in
            let configuration = WNSSimulator.Configuration()
            return [
                ("channels", simulator.channel("")), ("token", simulator.storeTokenURL),
                ("package-sid", configuration.store.clientID), ("client-secret", configuration.store.clientSecret),
                ("entra-token", simulator.entraTokenURL), ("entra-client-id", configuration.entra.clientID),
                ("entra-client-secret", configuration.entra.clientSecret),
            ]
        }
    }
}

struct SimulateMPNS: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "mpns", abstract: "Simulate MPNS of Windows Phone.")
    @OptionGroup var options: SimulatorOptions

    func run() async throws { try await options.play(MPNSService.self) { [("channels", $0.channel(""))] } }
}

struct SimulateGCM: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gcm", abstract: "Simulate the legacy protocol of GCM and FCM.")
    @OptionGroup var options: SimulatorOptions

    func run() async throws {
        try await options.play(GCMService.self) {
            [("send", $0.sendURL), ("server-key", GCMSimulator.Configuration().serverKey)]
        }
    }
}

struct SimulateHMS: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hms", abstract: "Simulate Huawei Push Kit: the token endpoint and messages of v1, v2 and v3.",
        discussion: "The credentials are the JSON file of a service account, for v3.")
    @OptionGroup var options: SimulatorOptions

    func run() async throws {
        var configuration = HMSSimulator.Configuration()
        configuration.account = options.account(of: configuration.projectID)
        let (options, known) = (self.options, configuration.credentials)
        try await options.play(
            HMSService.self, configuration,
            facts: {
                [
                    ("send", $0.sendURL()), ("send-v3", $0.sendURL("v3")), ("token", $0.tokenURL),
                    ("client-id", known.clientID), ("client-secret", known.clientSecret),
                ] + options.creation(of: .huawei, name: "HMS", endpoint: $0.url)
            }, credentials: { $0.service.account.huaweiJSON })
    }
}

struct SimulateADM: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adm", abstract: "Simulate Amazon Device Messaging: the token endpoint and messages.")
    @OptionGroup var options: SimulatorOptions

    func run() async throws {
        try await options.play(ADMService.self) { simulator in
            let credentials = ADMSimulator.Configuration().credentials
            return [
                ("send", simulator.sendURL("ID")), ("token", simulator.tokenURL),
                ("client-id", credentials.clientID), ("client-secret", credentials.clientSecret),
            ]
        }
    }
}

struct SimulatePAP: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pap", abstract: "Simulate the push service of BlackBerry.")
    @OptionGroup var options: SimulatorOptions

    func run() async throws {
        try await options.play(PAPService.self) { simulator in
            let configuration = PAPSimulator.Configuration()
            return [
                ("send", simulator.sendURL), ("application-id", configuration.applicationID),
                ("password", configuration.password),
            ]
        }
    }
}

struct SimulateWebhook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Simulate a receiver of signed webhooks.")
    @OptionGroup var options: SimulatorOptions
    @Option(help: "The key that sender and receiver share.") var secret = "belfry simulated webhook secret"

    func run() async throws {
        var configuration = WebhookSimulator.Configuration()
        configuration.secret = Array(secret.utf8)
        try await options.play(WebhookService.self, configuration) { [("send", $0.url)] }
    }
}

extension ServiceSimulator {
    /// Starts it. A fault names the ports that were asked for, as the system does not.
    fileprivate static func open(_ configuration: Configuration) async throws -> ServiceSimulator<S> {
        do { return try await start(configuration, group: MultiThreadedEventLoopGroup.singleton) } catch {
            let ports = [configuration.listening.port, configuration.listening.controlPort ?? 0].filter { $0 > 0 }
            guard !ports.isEmpty else { throw error }
            throw ValidationError("cannot listen on port \(ports.map { "\($0)" }.joined(separator: " or ")): \(error)")
        }
    }
}

/// Files that a simulator writes and reads again at its next start, so that what platforms were given stays true.
enum SimulatorFiles {
    /// The authority of an earlier start, or a new one; its key stands beside it, readable by its owner alone.
    static func authority(at path: String?) throws -> CertificateAuthority {
        guard let path else { return try CertificateAuthority() }
        if let certificate = contents(of: path), let key = contents(of: path + ".key"),
            let kept = CertificateAuthority(certificatePEM: certificate, privateKeyPEM: key)
        {
            return kept
        }
        let made = try CertificateAuthority()
        try write(made.privateKeyPEM + "\n", to: path + ".key")
        try write(made.certificatePEM, to: path, isSecret: false)
        return made
    }

    /// nil where there is no such file yet.
    static func contents(of path: String?) -> String? {
        path.flatMap { FileManager.default.contents(atPath: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes a file, for its owner alone unless it is there with another mode.
    ///
    /// - Parameter isSecret: for its owner alone, whatever is there.
    static func write(_ text: String, to path: String, isSecret: Bool = true) throws {
        try Data(text.utf8).replace(path, isPrivate: isSecret)
    }

    /// The command that makes a platform for the simulator, to be pasted into a shell.
    ///
    /// - Parameters:
    ///   - options: and their values.
    ///   - credentials: names and values.
    static func creation(
        of type: String, name: String, options: [(String, String)] = [], credentials: [(String, String)] = []
    ) -> String {
        let options = [("type", type), ("mode", "development"), ("name", name)] + options
        let words =
            options.map { "--\($0) \(quoted($1))" } + credentials.map { "--credential \(quoted("\($0)=\($1)"))" }
        return (["belfry platform create --app $APP"] + words).joined(separator: " ")
    }

    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "-._/:=@,+%".utf8.contains(byte)
            }
        }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }
}
