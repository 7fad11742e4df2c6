import BelfrySimulators
import HTTP2Client
import Logging
import NIOPosix
import Testing

@testable import APNs

/// The client against the simulator, which shares no code with it: the way of a batch, and of a token that expires.
@Suite struct APNsClientTests {
    private let key = APNsSimulator.IssuedKey()

    private func simulator(
        _ configure: (inout APNsSimulator.Configuration) -> Void = { _ in }
    ) async throws -> APNsSimulator {
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens([key.known])
        configure(&configuration)
        return try await APNsSimulator.start(configuration, group: MultiThreadedEventLoopGroup.singleton)
    }

    /// One connection at a time, so that the machine's pace does not decide how many are opened.
    private func client(_ simulator: APNsSimulator, _ credentials: APNsCredentials? = nil) throws -> APNsClient {
        var configuration = APNsClient.Configuration()
        configuration.pool.connectionsMax = 1
        return try APNsClient(
            credentials: credentials ?? .token(p8: key.p8, keyID: key.keyID, teamID: key.teamID),
            endpoint: APNsEndpoint(
                host: "127.0.0.1", port: simulator.port, trustRoots: Array(simulator.trustRootPEM.utf8)),
            configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func batch(_ count: Int, _ type: APNsPushType = .alert) throws -> APNsBatch {
        let payload = Array(#"{"aps":{"alert":"hello"}}"#.utf8)
        let devices = try (0..<count).map { number in
            try APNsDevice(
                token: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8 % 16)) },
                id: APNsID(high: 1, low: UInt64(number)))
        }
        let topic = type == .mdm ? "com.apple.mgmt.External.example" : "com.example.app"
        return APNsBatch(
            message: try APNsMessage(topic: topic, pushType: type, payload: payload), devices: devices)
    }

    private func shut(_ client: APNsClient, _ simulator: APNsSimulator) async throws {
        await client.shutdown(within: .seconds(5))
        try await simulator.shutdown()
    }

    private func reasons(_ answers: [APNsAnswer]) -> Set<String> {
        Set(
            answers.map { answer in
                switch answer {
                case .accepted: "accepted"
                case .rejected(let rejection): rejection.reason.code
                case .unprocessed(let fault): "unprocessed \(fault)"
                case .unknown(let fault): "unknown \(fault)"
                case .credentialsRefused: "credentials refused"
                }
            })
    }

    @Test func `a batch is accepted, with an id for each device`() async throws {
        let simulator = try await simulator { $0.isSandbox = true }
        let client = try client(simulator)
        let batch = try batch(1_200)
        let answers = await client.send(batch)
        #expect(answers.count == 1_200)
        for (device, answer) in zip(batch.devices, answers) {
            guard case .accepted(let id, let uniqueID) = answer else { return #expect(Bool(false), "\(answer)") }
            #expect(id == device.id)
            #expect(uniqueID != nil)
        }
        #expect(simulator.ledger.totals().told == 1_200)
        #expect(client.snapshot.connectionsOpen >= 1)
        #expect(client.room > 0)
        try await shut(client, simulator)
    }

    @Test func `batches of different messages leave together and keep their answers`() async throws {
        let simulator = try await simulator { $0.listening.ledgerDetail = .payloads }
        let client = try client(simulator)
        let batches = try (0..<60).map { number in
            let type: APNsPushType = number.isMultiple(of: 5) ? .background : .alert
            let message = try APNsMessage(
                topic: try batch(0).message.topic, pushType: type, expiration: number.isMultiple(of: 2) ? 0 : nil,
                collapseID: number.isMultiple(of: 3) ? nil : "c\(number)",
                payload: Array(#"{"aps":{"content-available":1},"n":\#(number)}"#.utf8))
            let token = Array(repeating: UInt8(number), count: 32)
            return APNsBatch(message: message, devices: number == 7 ? [] : [try APNsDevice(token: token)])
        }
        let answers = await client.send(batches)
        #expect(answers.map(\.count) == batches.map(\.devices.count))
        #expect(reasons(answers.flatMap(\.self)) == ["accepted"])
        for (number, batch) in batches.enumerated() where number != 7 {
            let request = simulator.ledger.token(batch.devices[0].token)?.lastRequest
            #expect(request?.payload == String(decoding: batch.message.payload.bytes, as: UTF8.self))
        }
        try await shut(client, simulator)
    }

    @Test(arguments: APNsPushType.allCases)
    func `APNs takes every push type with topic and priority`(type: APNsPushType) async throws {
        let simulator = try await simulator()
        let client = try client(simulator)
        #expect(reasons(await client.send(try batch(1, type))) == ["accepted"])
        try await shut(client, simulator)
    }

    @Test func `a device's own payload and token arrive unchanged`() async throws {
        let simulator = try await simulator {
            $0.tokenBytes = 1...100
            $0.listening.ledgerDetail = .payloads
        }
        let client = try client(simulator)
        let own = try APNsPayload(Array(#"{"aps":{"badge":7}}"#.utf8), for: .alert)
        let tokens: [[UInt8]] = [[1], Array(repeating: 0xAB, count: 100), Array(0..<32)]
        let devices = try tokens.enumerated().map { try APNsDevice(token: $1, payload: $0 == 1 ? own : nil) }
        let message = try batch(0).message
        let answers = await client.send(APNsBatch(message: message, devices: devices))
        #expect(reasons(answers) == ["accepted"])
        #expect(simulator.ledger.token(tokens[1])?.lastRequest?.payload == #"{"aps":{"badge":7}}"#)
        #expect(simulator.ledger.token(tokens[2])?.lastRequest?.payload == #"{"aps":{"alert":"hello"}}"#)
        try await shut(client, simulator)
    }

    @Test func `a dead token is told with its time`() async throws {
        let simulator = try await simulator()
        let client = try client(simulator)
        let batch = try batch(3)
        let dead = batch.devices[1].token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        simulator.script.answer(ScriptedAnswer(.unregistered, timestamp: 1_700_000_000_123), for: [dead])
        let answers = await client.send(batch)
        guard case .rejected(let rejection) = answers[1] else { return #expect(Bool(false), "\(answers[1])") }
        #expect(rejection.status == 410)
        #expect(rejection.reason == .unregistered)
        #expect(rejection.timestamp == 1_700_000_000_123)
        #expect(reasons([answers[0], answers[2]]) == ["accepted"])
        try await shut(client, simulator)
    }

    @Test func `an expired token is replaced once, its requests sent again`() async throws {
        let simulator = try await simulator()
        let client = try client(simulator)
        _ = await client.send(try batch(10))
        simulator.script.add(
            ServiceFault(
                when: .init(requestsFrom: 100), times: 1,
                then: .answer(ScriptedAnswer("ExpiredProviderToken", status: 403, sticky: true))))
        let answers = await client.send(try batch(1_000))
        #expect(reasons(answers) == ["accepted"])
        #expect(simulator.ledger.totals().connections.opened == 2)
        try await shut(client, simulator)
    }

    @Test func `a wrong key is told, not retried`() async throws {
        let simulator = try await simulator()
        let other = APNsSimulator.IssuedKey(keyID: "OTHERKEY01")
        let client = try client(simulator, .token(p8: other.p8, keyID: other.keyID, teamID: other.teamID))
        #expect(reasons(await client.send(try batch(3))) == ["InvalidProviderToken"])
        #expect(simulator.ledger.totals().connections.streamsAtOnceMax == 1, "nothing was proven")
        try await shut(client, simulator)
    }

    @Test func `a certificate uses all streams from the first request`() async throws {
        let simulator = try await simulator { $0.authentication = .anyCertificate }
        let p12 = try OpenSSL.p12(passphrase: "x")
        let client = try client(simulator, .certificate(p12: p12, passphrase: "x"))
        #expect(reasons(await client.send(try batch(500))) == ["accepted"])
        try await shut(client, simulator)
    }

    @Test(arguments: [UInt8(42), 44, 45])
    func `a refused certificate is told from a lost network`(alert: UInt8) async throws {
        let simulator = try await simulator { $0.authentication = .anyCertificate }
        simulator.script.add(ServiceFault(then: .refuseHandshake(alert: alert)))
        let client = try client(simulator, .certificate(p12: OpenSSL.p12(passphrase: "x"), passphrase: "x"))
        #expect(reasons(await client.send(try batch(2))) == ["credentials refused"])
        try await shut(client, simulator)
    }
}
