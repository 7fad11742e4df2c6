import APNs
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import NIOPosix
import Testing

@testable import BelfryProviders

/// The provider for Apple's devices against the simulator, which shares no code with it: each row of APNs' tables in
/// docs/Providers.md, each push type, and the test of credentials.
@Suite struct APNsLoopbackTests {
    private typealias Reason = BelfrySimulators.APNsReason

    private struct RunningSimulator {
        let simulator: APNsSimulator
        let channels: APNsChannelsSimulator
        let fixture: TestProvider
    }

    private static let bundle = "org.example.system"
    private static let wait = Duration.seconds(15 * 60)

    private static func with(
        _ use: AppleTokenUse = .app, isKnown: Bool = true, trustRoot: String? = nil,
        _ body: (RunningSimulator) async throws -> Void
    ) async throws {
        let key = APNsSimulator.IssuedKey()
        let authority = try CertificateAuthority()
        var configuration = APNsSimulator.Configuration()
        configuration.authentication = .tokens(isKnown ? [key.known] : [])
        configuration.listening.authority = authority
        configuration.listening.ledgerDetail = .payloads
        configuration.parsesPayloads = true
        var management = APNsChannelsConfiguration()
        management.channels = configuration.channels
        management.keys = [key.known]
        management.listening.authority = authority
        let group = MultiThreadedEventLoopGroup.singleton
        let simulator = try await APNsSimulator.start(configuration, group: group)
        let channels = try await APNsChannelsSimulator.start(management, group: group)
        let credentials = APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID),
            topic: use == .mdm ? "com.apple.mgmt.External.1" : bundle, endpoint: "https://localhost:\(simulator.port)",
            trustRootsPEM: trustRoot ?? simulator.trustRootPEM, channelsEndpoint: use == .broadcast ? channels.url : nil
        )
        try await TestProvider.with(.apple(use), credentials, change: { $0.apns.connectionsMax = 1 }) { fixture in
            try await body(RunningSimulator(simulator: simulator, channels: channels, fixture: fixture))
        }
        try await simulator.shutdown()
        try await channels.shutdown()
    }

    private static let token = String(repeating: "t", count: 32)
    private static let hello = Push.Content(body: "hello")

    private static func apple(_ text: String, body: String? = nil) throws -> Push.Content {
        Push.Content(body: body, apple: try ApplePush(try JSONValue(json: text.utf8)))
    }

    // MARK: Verdicts

    /// The advice for a person beside APNs' own word.
    private enum Help {
        static let topic = "the topic has to be the app's bundle id, and the key or certificate one of its team"
        static let certificate = "the certificate expired, was revoked, or is not one for pushes"
        static let environment =
            "it is for the other environment: compare the platform's mode, development or production"
        static let clock = "by APNs' clock the token was signed more than an hour ago: set this machine's clock"
        static let key =
            "the key, the key id and the team id do not belong together, or the key was revoked: compare them with the page of the key "
            + "at Apple's developer site"
    }

    private static let verdicts: [(Int, Reason, Outcome)] = [
        (400, .badDeviceToken, .refused(.badToken)),
        (400, .deviceTokenNotForTopic, .refused(.tokenOfAnotherApplication)),
        (400, .missingDeviceToken, .refused(.missingToken)), (400, .payloadEmpty, .refused(.payloadEmpty)),
        (400, .badCollapseID, .refused(.badCollapseID)), (400, .badExpirationDate, .refused(.badExpiration)),
        (400, .badMessageID, .refused(.badMessageID)), (400, .badPriority, .refused(.badPriority)),
        (400, .invalidPushType, .refused(.badPushType)), (400, .duplicateHeaders, .refused(.duplicateHeaders)),
        (400, .badTopic, .credentialsRefused("APNs answered 400 BadTopic: \(Help.topic)")),
        (400, .missingTopic, .credentialsRefused("APNs answered 400 MissingTopic: \(Help.topic)")),
        (400, .topicDisallowed, .credentialsRefused("APNs answered 400 TopicDisallowed: \(Help.topic)")),
        (400, .idleTimeout, .failed(retryAfter: nil)),
        (403, .badCertificate, .credentialsRefused("APNs answered 403 BadCertificate: \(Help.certificate)")),
        (
            403, .badCertificateEnvironment,
            .credentialsRefused("APNs answered 403 BadCertificateEnvironment: \(Help.environment)")
        ),
        (403, .invalidProviderToken, .credentialsRefused("APNs answered 403 InvalidProviderToken: \(Help.key)")),
        (403, .missingProviderToken, .credentialsRefused("APNs answered 403 MissingProviderToken")),
        (403, .unrelatedKeyIDInToken, .credentialsRefused("APNs answered 403 UnrelatedKeyIdInToken")),
        (
            403, .badEnvironmentKeyIDInToken,
            .credentialsRefused("APNs answered 403 BadEnvironmentKeyIdInToken: \(Help.environment)")
        ),
        (403, .expiredProviderToken, .credentialsRefused("APNs answered 403 ExpiredProviderToken: \(Help.clock)")),
        (403, .forbidden, .refused(.forbidden)), (404, .badPath, .refused(.badPath)),
        (405, .methodNotAllowed, .refused(.methodNotAllowed)), (413, .payloadTooLarge, .refused(.payloadTooLarge)),
        (429, .tooManyRequests, .throttled(retryAfter: nil)),
        (429, .tooManyProviderTokenUpdates, .throttled(retryAfter: nil)),
        (500, .internalServerError, .failed(retryAfter: wait)), (503, .serviceUnavailable, .failed(retryAfter: wait)),
        (503, .shutdown, .failed(retryAfter: nil)),
    ]

    @Test func `each reason has its outcome`() async throws {
        for (status, reason, expected) in Self.verdicts {
            try await Self.with { running in
                running.simulator.script.add(
                    ServiceFault(then: .answer(ScriptedAnswer(reason.rawValue, status: status))))
                let outcomes = await running.fixture.send([Self.token])
                #expect(outcomes == [expected], "\(status) \(reason)")
            }
        }
    }

    @Test(arguments: [
        (418, Outcome.refused(.other)), (410, .gone(since: nil)), (429, .throttled(retryAfter: nil)),
        (502, .failed(retryAfter: wait)),
    ])
    func `an unknown reason is judged by its status`(status: Int, expected: Outcome) async throws {
        try await Self.with { running in
            running.simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer("QuiteNew", status: status))))
            let outcomes = await running.fixture.send([Self.token])
            #expect(outcomes == [expected])
        }
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `a dead token is gone since APNs' time`(reason: String) async throws {
        try await Self.with { running in
            let since = Int64(1_700_000_000_123)
            running.simulator.script.add(
                ServiceFault(then: .answer(ScriptedAnswer(reason, status: 410, timestamp: since))))
            let outcomes = await running.fixture.send([Self.token])
            #expect(outcomes == [.gone(since: Instant(milliseconds: since))])
        }
    }

    @Test func `silences`() async throws {
        let cases: [(ServiceFault.Then, Outcome)] = [
            (.reset(code: 7), .failed(retryAfter: nil)), (.close(told: true), .unanswered),
            (.reset(code: 2), .unanswered),
        ]
        for (then, expected) in cases {
            try await Self.with { running in
                running.simulator.script.add(ServiceFault(then: then))
                let outcomes = await running.fixture.send([Self.token])
                #expect(outcomes == [expected], "\(then)")
            }
        }
    }

    @Test func `a certificate that is not trusted parks the platform`() async throws {
        try await Self.with(trustRoot: try CertificateAuthority().certificatePEM) { running in
            guard case .credentialsRefused(let words, _, _)? = await running.fixture.send([Self.token]).first else {
                Issue.record("it trusts a stranger")
                return
            }
            #expect(words.hasPrefix("APNs: TLS failed: the server's certificate is not trusted"), "\(words)")
            #expect(
                await running.fixture.credentialsService.test(running.fixture.platform, devices: []) == .refused(words))
            #expect(running.simulator.ledger.totals().told == 0)
        }
    }

    @Test(arguments: [("localhost", ConnectionFault.Kind.connect), ("nobody.invalid", .dns)])
    func `an unreachable APNs is reported with its reason`(host: String, kind: ConnectionFault.Kind) async throws {
        let key = APNsSimulator.IssuedKey()
        let port = try Loopback.freePort()
        let credentials = APNsPlatformCredentials(
            identity: .key(p8: key.p8, keyID: key.keyID, teamID: key.teamID), topic: Self.bundle,
            endpoint: "https://\(host):\(port)")
        try await TestProvider.with(.ios, credentials, change: { $0.apns.deadline = .seconds(2) }) { fixture in
            let outcomes = await fixture.send([Self.token])
            let fault = try #require(outcomes.first?.connectionFault, "\(outcomes)")
            #expect(fault.kind == kind && fault.detail.contains(host), "\(fault)")
            let test = await fixture.credentialsService.test(fixture.platform, devices: [])
            #expect(test == .unknown("the provider cannot be reached: \(fault.detail)"))
        }
    }

    @Test func `one device that is throttled holds up no other`() async throws {
        try await Self.with { running in
            let hex = Array(Self.token.utf8).hex
            running.simulator.script.answer(ScriptedAnswer(.tooManyRequests), for: [hex])
            let outcomes = await running.fixture.send([String(repeating: "a", count: 32), Self.token])
            #expect(outcomes == [.accepted, .throttled(retryAfter: nil)])
        }
    }

    // MARK: Push types

    private static let first = UUID()

    private static let types: [(AppleTokenUse, Push.Content?, String, [String: String])] = [
        (.app, hello, bundle, ["apns-push-type": "alert", "apns-priority": "10"]),
        (.app, try? apple("{}", body: "x"), bundle, ["apns-push-type": "alert", "apns-expiration": "2147483647"]),
        (
            .app, try? apple(#"{"type":"alert","priority":1,"collapse_id":"score","store":false}"#, body: "x"), bundle,
            ["apns-priority": "1", "apns-collapse-id": "score", "apns-expiration": "0"]
        ),
        (.app, hello.following(receipt: first), bundle, ["apns-collapse-id": first.lowercased]),
        (.app, try? apple(#"{"type":"background"}"#), bundle, ["apns-push-type": "background", "apns-priority": "5"]),
        (
            .voip, try? apple(#"{"type":"voip"}"#), "\(bundle).voip",
            ["apns-push-type": "voip", "apns-priority": "10", "apns-expiration": "0"]
        ),
        (
            .complication, try? apple(#"{"type":"complication"}"#), "\(bundle).complication",
            ["apns-push-type": "complication"]
        ),
        (
            .fileProvider, try? apple(#"{"type":"fileprovider"}"#), "\(bundle).pushkit.fileprovider",
            ["apns-push-type": "fileprovider"]
        ),
        (.location, try? apple(#"{"type":"location"}"#), "\(bundle).location-query", ["apns-push-type": "location"]),
        (
            .mdm, try? apple(#"{"type":"mdm","payload":{"mdm":"magic"}}"#), "com.apple.mgmt.External.1",
            ["apns-push-type": "mdm"]
        ),
        (
            .liveActivity,
            try? apple(
                #"{"type":"liveactivity","priority":5,"payload":{"aps":{"timestamp":1,"event":"update","content-state":{}}}}"#
            ),
            "\(bundle).push-type.liveactivity", ["apns-push-type": "liveactivity", "apns-priority": "5"]
        ),
        (
            .liveActivityStart,
            try? apple(
                #"{"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"M","attributes":{},"alert":{"title":"t"},"input-push-token":1}}}"#
            ), "\(bundle).push-type.liveactivity", ["apns-push-type": "liveactivity", "apns-priority": "10"]
        ),
        (
            .pushToTalk, try? apple(#"{"type":"pushtotalk"}"#), "\(bundle).voip-ptt",
            ["apns-push-type": "pushtotalk", "apns-expiration": "0", "apns-priority": "10"]
        ),
        (.widgets, try? apple(#"{"type":"widgets"}"#), "\(bundle).push-type.widgets", ["apns-push-type": "widgets"]),
        (
            .controls, try? apple(#"{"type":"controls"}"#), "\(bundle).push-type.controls",
            ["apns-push-type": "controls"]
        ),
    ]

    @Test func `each push type has its topic and headers`() async throws {
        for (use, content, topic, headers) in Self.types {
            try await Self.with(use) { running in
                let outcomes = await running.fixture.send([Self.token], content: try #require(content))
                #expect(outcomes == [.accepted], "\(use)")
                let request = try #require(running.simulator.ledger.token(Array(Self.token.utf8))?.lastRequest)
                let sent = Dictionary(request.headers.map { ($0.name, $0.value) }) { $1 }
                #expect(sent["apns-topic"] == topic)
                for (name, value) in headers { #expect(sent[name] == value, "\(use) \(name)") }
            }
        }
    }

    @Test func `Belfry and the client agree on push types`() {
        for kind in ApplePush.Kind.allCases {
            let type = APNsPushType(kind)
            #expect(type.rawValue == kind.rawValue)
            #expect(type.priorities == kind.priorities.map(APNsPriority.init))
            #expect(type.payloadBytesMax == kind.payloadBytesMax(for: .app))
        }
    }

    // MARK: Broadcasts

    private static let goal =
        #"{"type":"liveactivity","payload":{"aps":{"timestamp":1,"event":"update","content-state":{"home":1}}}}"#

    @Test func `a channel is made, told, shown and deleted`() async throws {
        try await Self.with(.broadcast) { running in
            let (adminService, platform) = (running.fixture.credentialsService.channels, running.fixture.platform)
            let plain = try await adminService.createChannel(.nothing, on: platform)
            let keeping = try await adminService.createChannel(.latest, on: platform)
            #expect(try await adminService.channel(plain.id, on: platform) == plain)
            #expect(try await adminService.channel(keeping.id, on: platform) == keeping)
            #expect(try await Set(adminService.channels(on: platform)) == [plain.id, keeping.id])
            let outcomes = await running.fixture.send([plain.id, keeping.id], content: try Self.apple(Self.goal))
            #expect(outcomes == [.accepted, .accepted])
            let request = try #require(running.simulator.ledger.token(Array(plain.id.utf8))?.lastRequest)
            let sent = Dictionary(request.headers.map { ($0.name, $0.value) }) { $1 }
            #expect(sent[":path"] == "/4/broadcasts/apps/\(Self.bundle)")
            #expect(sent["apns-channel-id"] == plain.id)
            #expect(sent["apns-expiration"] == "0")
            #expect(sent["apns-topic"] == nil)
            #expect(request.payload == #"{"aps":{"timestamp":1,"event":"update","content-state":{"home":1}}}"#)
            try await adminService.deleteChannel(plain.id, on: platform)
            #expect(try await adminService.channels(on: platform) == [keeping.id])
            await #expect(throws: BroadcastChannelError.unknown) {
                try await adminService.channel(plain.id, on: platform)
            }
            await #expect(throws: BroadcastChannelError.unknown) {
                try await adminService.deleteChannel(plain.id, on: platform)
            }
        }
    }

    @Test func `deleted channels are gone; those keeping nothing take no expiry`() async throws {
        try await Self.with(.broadcast) { running in
            let (adminService, platform) = (running.fixture.credentialsService.channels, running.fixture.platform)
            let plain = try await adminService.createChannel(.nothing, on: platform)
            let keeping = try await adminService.createChannel(.latest, on: platform)
            let gone = try await adminService.createChannel(.latest, on: platform)
            try await adminService.deleteChannel(gone.id, on: platform)
            let outcomes = await running.fixture.send(
                [plain.id, keeping.id, gone.id, String(repeating: "x", count: 256)],
                content: try Self.apple(Self.goal), expiresIn: .seconds(600))
            #expect(
                outcomes == [
                    .refused(.badExpiration), .accepted, .gone(since: running.fixture.clock.now), .refused(.badToken),
                ])
        }
    }

    private static let broadcastVerdicts: [(Reason, Outcome)] = [
        (.featureNotEnabled, .credentialsRefused("APNs answered 400 FeatureNotEnabled")),
        (.missingChannelID, .refused(.missingToken)), (.badChannelID, .refused(.badToken)),
        (.channelNotRegistered, .gone(since: ManualClock().now)), (.badRequestParams, .refused(.other)),
        (.badRequestPayload, .refused(.other)), (.payloadEmpty, .refused(.payloadEmpty)),
        (.badMessageID, .refused(.badMessageID)), (.missingPushType, .refused(.badPushType)),
        (.invalidPushType, .refused(.badPushType)), (.badExpirationDate, .refused(.badExpiration)),
        (.topicDisallowed, .credentialsRefused("APNs answered 400 TopicDisallowed: \(Help.topic)")),
        (.badPriority, .refused(.badPriority)),
        (.badCertificate, .credentialsRefused("APNs answered 403 BadCertificate: \(Help.certificate)")),
        (
            .badCertificateEnvironment,
            .credentialsRefused("APNs answered 403 BadCertificateEnvironment: \(Help.environment)")
        ),
        (.topicMismatch, .credentialsRefused("APNs answered 403 TopicMismatch: \(Help.topic)")),
        (.missingProviderToken, .credentialsRefused("APNs answered 403 MissingProviderToken")),
        (.expiredProviderToken, .credentialsRefused("APNs answered 403 ExpiredProviderToken: \(Help.clock)")),
        (.invalidProviderToken, .credentialsRefused("APNs answered 403 InvalidProviderToken: \(Help.key)")),
        (.badPath, .refused(.badPath)), (.methodNotAllowed, .refused(.methodNotAllowed)),
        (.payloadTooLarge, .refused(.payloadTooLarge)), (.tooManyRequests, .throttled(retryAfter: nil)),
        (.tooManyProviderTokenUpdates, .throttled(retryAfter: nil)),
        (.internalServerError, .failed(retryAfter: wait)), (.serviceUnavailable, .failed(retryAfter: wait)),
        (.shutdown, .failed(retryAfter: nil)),
    ]

    @Test func `each reason for refusing a broadcast has its outcome`() async throws {
        for (reason, expected) in Self.broadcastVerdicts {
            try await Self.with(.broadcast) { running in
                running.simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer(reason))))
                let outcomes = await running.fixture.send(["Y2hhbm5lbA=="], content: try Self.apple(Self.goal))
                #expect(outcomes == [expected], "\(reason)")
            }
        }
    }

    private static let managementErrors: [(Reason, BroadcastChannelError)] = [
        (.featureNotEnabled, .refused("APNs answered 400 FeatureNotEnabled")),
        (.missingChannelID, .refused("APNs answered 400 MissingChannelId")), (.badChannelID, .unknown),
        (.channelNotRegistered, .unknown), (.badRequestParams, .refused("APNs answered 400 BadRequestParams")),
        (.badRequestPayload, .refused("APNs answered 400 BadRequestPayload")),
        (.payloadEmpty, .refused("APNs answered 400 PayloadEmpty")),
        (.badMessageID, .refused("APNs answered 400 BadMessageId")),
        (.missingPushType, .refused("APNs answered 400 MissingPushType")),
        (.invalidPushType, .refused("APNs answered 400 InvalidPushType")),
        (.cannotCreateChannelConfig, .refused("APNs answered 400 CannotCreateChannelConfig")),
        (.topicDisallowed, .refused("APNs answered 400 TopicDisallowed")),
        (.badCertificate, .refused("APNs answered 403 BadCertificate")),
        (.badCertificateEnvironment, .refused("APNs answered 403 BadCertificateEnvironment")),
        (.topicMismatch, .refused("APNs answered 403 TopicMismatch")),
        (.missingProviderToken, .refused("APNs answered 403 MissingProviderToken")),
        (.expiredProviderToken, .refused("APNs answered 403 ExpiredProviderToken")),
        (.invalidProviderToken, .refused("APNs answered 403 InvalidProviderToken")),
        (.badPath, .refused("APNs answered 404 BadPath")),
        (.methodNotAllowed, .refused("APNs answered 405 MethodNotAllowed")),
        (.payloadTooLarge, .refused("APNs answered 413 PayloadTooLarge")),
        (.tooManyRequests, .unavailable("APNs answered 429 TooManyRequests")),
        (.tooManyProviderTokenUpdates, .unavailable("APNs answered 429 TooManyProviderTokenUpdates")),
        (.internalServerError, .unavailable("APNs answered 500 InternalServerError")),
        (.serviceUnavailable, .unavailable("APNs answered 503 ServiceUnavailable")),
        (.shutdown, .unavailable("APNs answered 503 Shutdown")),
    ]

    @Test func `each channel refusal has its own words`() async throws {
        for (reason, expected) in Self.managementErrors {
            try await Self.with(.broadcast) { running in
                running.channels.script.add(ServiceFault(then: .answer(ScriptedAnswer(reason.rawValue))))
                let (adminService, platform) = (running.fixture.credentialsService.channels, running.fixture.platform)
                await #expect(throws: expected) { try await adminService.createChannel(.latest, on: platform) }
            }
        }
    }

    @Test func `platforms of other types have no channels`() async throws {
        try await Self.with(.voip) { running in
            let words = "the platform is of type ios-voip, channels are those of type ios-broadcast"
            await #expect(throws: BroadcastChannelError.unsupported(words)) {
                try await running.fixture.credentialsService.channels.channels(on: running.fixture.platform)
            }
        }
    }

    @Test func `an app has so many channels and no more`() async throws {
        let channels = ChannelRegistry(ofAppMax: 1)
        #expect(channels.create(storing: 1, of: "a") != nil)
        #expect(channels.create(storing: 1, of: "a") == nil)
        #expect(channels.create(storing: 1, of: "b") != nil)
    }

    // MARK: Credentials

    @Test(arguments: AppleTokenUse.allCases)
    func `credentials are tested with a token that reaches nobody`(use: AppleTokenUse)
        async throws
    {
        try await Self.with(use) { running in
            running.simulator.script.answer(
                ScriptedAnswer(.badDeviceToken), for: [String(repeating: "0", count: 64)])
            let test = await running.fixture.credentialsService.test(running.fixture.platform, devices: [])
            #expect(test == .works)
            // It is no broadcast, and contradicts no refusal of one.
            #expect(await running.fixture.provider.refusesCredentials() == (use == .broadcast ? nil : false))
            #expect(running.simulator.ledger.totals().told == 0)
        }
    }

    @Test func `credentials that APNs refuses are told with its reason`() async throws {
        try await Self.with(isKnown: false) { running in
            let test = await running.fixture.credentialsService.test(running.fixture.platform, devices: [])
            #expect(test == .refused("APNs answered 403 InvalidProviderToken: \(Help.key)"))
        }
        try await Self.with { running in
            running.simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer("TopicDisallowed", status: 400))))
            let test = await running.fixture.credentialsService.test(running.fixture.platform, devices: [])
            #expect(test == .refused("APNs answered 400 TopicDisallowed: \(Help.topic)"))
        }
        try await Self.with { running in
            running.simulator.script.add(ServiceFault(then: .answer(ScriptedAnswer("ServiceUnavailable", status: 503))))
            let test = await running.fixture.credentialsService.test(running.fixture.platform, devices: [])
            #expect(test.name == "unknown" && test.detail?.contains("503 ServiceUnavailable") == true, "\(test)")
        }
    }

    @Test func `a platform takes the credentials of its kind`() throws {
        let key = APNsSimulator.IssuedKey()
        let identity = APNsPlatformCredentials.Identity.key(p8: key.p8, keyID: key.keyID, teamID: key.teamID)
        let app = APNsPlatformCredentials(identity: identity, topic: Self.bundle)
        let mdm = APNsPlatformCredentials(identity: identity, topic: "com.apple.mgmt.External.1")
        try app.check(for: .ios)
        try app.check(for: .apple(.location))
        try mdm.check(for: .apple(.mdm))
        #expect(throws: InvalidInput.self) { try app.check(for: .apple(.mdm)) }
        #expect(throws: InvalidInput.self) { try mdm.check(for: .ios) }
        let certificate = APNsPlatformCredentials(
            identity: .certificate(p12: [], passphrase: ""), topic: Self.bundle)
        #expect(throws: InvalidInput.self) { try certificate.check(for: .apple(.location)) }
        let remote = APNsPlatformCredentials(
            identity: identity, topic: Self.bundle, endpoint: "https://a:1", trustRootsPEM: "pem",
            channelsEndpoint: "https://b:2")
        #expect(try APNsPlatformCredentials(entered: remote.entered) == remote)
    }
}
