import BelfryTesting
import FoundationEssentials
import Hummingbird
import HummingbirdTesting
import Testing

@testable import BelfryService

/// The API over a store in memory and real sockets, with an application of softphones: one platform of PushKit, one of iOS and one
/// of FCM, and the app ids of the guide's samples.
struct SoftphoneServer {
    let store: SQLiteStore
    let clock: ManualClock
    let application: BelfryService.Application
    let platforms: [PlatformKind: BelfryService.Platform]
    private let port: Int

    static let key = "0123456789abcdef0123456789abcdef"
    static let appID = "com.cloudsoftphone.app"
    static let callsAppID = "com.cloudsoftphone.app.pushkit"
    static let account = "johndow"
    static let selector = "12869E0E6E553673C54F29105A0647204C416A2A:7C3A0D14"
    /// Tokens of the guide's samples.
    static let callsToken = "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY="
    static let otherToken = "QVBBOTFiRzlhcVd2bW54bllCWldHOWh4dnRrZ3pUWFNvcGZpdWZ6bWM2dFAzS2J"
    /// The decoded tokens, by `base64 -d | xxd`.
    static let callsTokenHex = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"
    static let otherTokenText = "APA91bG9aqWvmnxnYBZWG9hxvtkgzTXSopfiufzmc6tP3Kb"

    static func with(
        template: String? = nil, digest: Bool = false, reporters: [String] = [], mediators: [String]? = ["127.0.0.0/8"],
        deadTokenStatus: String? = nil, _ play: @escaping @Sendable (SoftphoneServer) async throws -> Void
    ) async throws {
        let clock = ManualClock(at: Instant(milliseconds: 1_500_000_000_000))
        let store = try SQLiteStore.temporary(clock: clock)
        let vault = PlaintextVault()
        let application = try await store.create(.test(vault))
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in [PlatformKind.apple(.voip), .ios, .androidFCM] {
            platforms[kind] = try await store.create(.test(kind, of: application))
        }
        let names: [(String, PlatformKind)] = [(callsAppID, .apple(.voip)), (appID, .ios), (appID, .androidFCM)]
        for (name, kind) in names {
            try await store.set(
                AcrobitsAppID(
                    name: name, applicationKey: application.key, platformKey: try #require(platforms[kind]).key))
        }
        var options: [String: String] = [:]
        options["template"] = template
        if digest { options["digest"] = "md5" }
        _ = try await store.create(
            try NewOpenEndpoint(
                kind: .acrobitsReporter, application: application.key, keyHash: SecretHash.of(key), allowed: reporters,
                options: options))
        if let mediators {
            _ = try await store.create(
                try NewOpenEndpoint(
                    kind: .acrobitsMediator, application: application.key, keyHash: SecretHash.of("mediator"),
                    allowed: mediators, options: deadTokenStatus.map { ["dead_token_status": $0] } ?? [:],
                    isPlain: !mediators.isEmpty))
        }
        let router = RecordedServer.router(store, vault, clock, PCF.Options())
        let app = Hummingbird.Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
        let all = platforms
        try await app.test(.live) { client in
            try await play(
                SoftphoneServer(
                    store: store, clock: clock, application: application, platforms: all,
                    port: try #require(client.port)))
        }
    }

    /// Sends the bytes on a connection of their own, as softphones do.
    func exchange(_ request: String) async throws -> RawAnswer {
        let wire = try await Wire.open(port: port)
        let answer = try await wire.exchange(request)
        try? await wire.close()
        return answer
    }

    /// Posts a body, whose length is counted.
    func post(_ path: String, _ type: String?, _ body: String) async throws -> RawAnswer {
        let type = type.map { "Content-Type: \($0)\r\n" } ?? ""
        return try await exchange(
            "POST \(path) HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\(type)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    func get(_ path: String, method: String = "GET", _ headers: String = "") async throws -> RawAnswer {
        try await exchange("\(method) \(path) HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\(headers)\r\n")
    }

    /// The active tokens of a platform, as its provider knows them.
    func tokens(_ kind: PlatformKind) async throws -> Set<String> {
        Set(try await devices(kind).filter(\.isActive).compactMap { $0.token?.text(for: kind) })
    }

    func devices(_ kind: PlatformKind) async throws -> [Device] {
        try await store.allDevices().filter { $0.platformKey == platforms[kind]?.key }
    }

    var pushes: [Push] {
        get async throws { try await store.allPushes() }
    }
}

/// The answer that softphones take for success without looking further: 200, no body, and no type of one.
func expectSilence(_ answer: RawAnswer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 200, "\(answer)", sourceLocation: sourceLocation)
    #expect(answer.body.isEmpty && answer.headers["content-type"] == nil, "\(answer)", sourceLocation: sourceLocation)
}
