import ArgumentParser
import BelfrySimulators
import FoundationEssentials
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

    @Option(help: "The port to serve on; 0 takes any free one.") var port = 0
    @Option(help: "The port of the script and the ledger; 0 takes any free one. [default: none]") var controlPort: Int?
    @Option(help: "The port of the management of broadcast channels; 0 takes any free one.") var channelsPort: Int?
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
    @Option(help: "How long each answer takes, in milliseconds.") var latency = 0

    func run() async throws {
        var configuration = APNsSimulator.Configuration()
        configuration.listening.port = port
        configuration.listening.controlPort = controlPort
        configuration.listening.ledgerDetail = ledger
        let key = APNsSimulator.IssuedKey(p8: SimulatorFiles.contents(of: keyOut))
        if keyOut != nil { configuration.authentication = .tokens([key.known]) }
        let authority = try SimulatorFiles.authority(at: caOut)
        configuration.listening.authority = authority
        if let certificates = try certificates(of: authority) { configuration.authentication = certificates }
        let simulator = try await APNsSimulator.start(configuration, group: MultiThreadedEventLoopGroup.singleton)
        if latency > 0 { simulator.script.set(ServiceScript(latencyMilliseconds: latency)) }
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
        on port: Int, _ apns: APNsSimulator.Configuration, _ key: APNsSimulator.IssuedKey
    ) async throws -> APNsChannelsSimulator {
        var configuration = APNsChannelsConfiguration()
        configuration.listening.port = port
        configuration.listening.authority = apns.listening.authority
        configuration.channels = apns.channels
        if keyOut != nil { configuration.keys = [key.known] }
        return try await APNsChannelsSimulator.start(configuration, group: MultiThreadedEventLoopGroup.singleton)
    }
}

extension Ledger.Detail: ExpressibleByArgument {
    public static var allValueStrings: [String] { [totals, tokens, payloads].map(\.rawValue) }
}
