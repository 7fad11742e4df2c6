import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import BelfryService

/// The API of web pages on a store in memory, with a web platform whose push service is the test's own.
struct WebRig {
    let store: SQLiteStore
    let clock: ManualClock
    let platform: BelfryService.Platform
    let access: WebAccess
    let service = RecordingProvider()
    var limits: [Principal.Kind: RateLimit] = [:]

    static let origin = "https://shop.example"

    init(provesRegistrations: Bool = true) async throws {
        clock = ManualClock()
        store = try SQLiteStore.temporary(clock: clock)
        let application = try await store.create(.test(PlaintextVault()))
        let made = try await store.create(.test(.web, of: application))
        access = try WebAccess(
            key: RegistrationKey(for: made.uuid, random: UUID()), origins: [try WebOrigin(Self.origin)],
            provesRegistrations: provesRegistrations)
        try await store.setWebAccess(of: made.key, to: access)
        platform = try #require(try await store.platform(made.key))
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String = "", _ body: String? = nil, origin: String? = WebRig.origin,
        key: String? = nil, limiter: RequestLimiter? = nil
    ) async throws -> TestAnswer {
        let router = ResponseMiddleware.router(clock: clock)
        WebRoutes(
            Services(store, clock: clock, credentials: WebCredentials(), requestLimiter: limiter),
            providers: FakeProviders { _ in service }, verifiesCustomUserIDs: false, eventsLateMax: .seconds(86_400)
        ).add(to: router)
        return try await Hummingbird.Application(router: router).test(.router) { client in
            var headers: HTTPFields = [:]
            headers[.origin] = origin
            return try TestAnswer(
                try await client.execute(
                    uri: "/web/v1/\(key ?? access.key.text)\(path)", method: method, headers: headers,
                    body: body.map(ByteBuffer.init(string:))))
        }
    }

    /// A subscription as browsers write it.
    static func subscription(_ name: String) -> String {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        return
            #"{"endpoint":"https://push.example.org/\#(name)","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
    }

    /// Registers a browser by the proof that is pushed to it, and returns its UUID.
    func register(_ name: String, _ more: String = "") async throws -> UUID {
        let subscription = Self.subscription(name)
        let first = try await send(.post, "/registrations", #"{"subscription":\#(subscription)\#(more)}"#)
        #expect(first.status == 202, "\(first)")
        let proof = try #require(service.proofs.last)
        let second = try await send(
            .post, "/registrations", #"{"subscription":\#(subscription),"proof":"\#(proof)"\#(more)}"#)
        #expect(second.status == 200, "\(second)")
        return try #require(second["device_uuid"]?.stringValue.flatMap(UUID.init(uuidString:)))
    }
}

/// Takes all pushes, or answers with a given outcome.
final class RecordingProvider: Provider {
    private let held = Mutex<(proofs: [String], outcome: Outcome)>(([], .accepted))

    /// The proofs that were pushed, in order.
    var proofs: [String] { held.withLock { $0.proofs } }
    var room: Int { 100 }

    func service(of token: DeviceToken) -> String? { nil }
    func refusesCredentials() async -> Bool? { nil }

    func answer(_ outcome: Outcome) { held.withLock { $0.outcome = outcome } }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        held.withLock { held in
            if let proof = push.content.custom["web"]?["proof"]?.stringValue { held.proofs.append(proof) }
            return recipients.map { _ in held.outcome }
        }
    }
}

/// Credentials whose public part is a VAPID key.
struct WebCredentials: ProviderCredentials {
    func sealed(
        _ entered: [String: JSONValue], kind: PlatformKind, mode: BelfryService.Platform.Mode, platform: UUID,
        by author: CredentialsAuthor, for holder: ShareHolder
    ) async throws -> SealedCredentials { SealedCredentials(seal: Sealed(bytes: []), facts: .none) }
    func examine(_ platform: BelfryService.Platform) async throws -> ExaminedCredentials {
        ExaminedCredentials(facts: CredentialFacts(expiresAt: nil, published: ["vapid_public_key": "BKey"]))
    }
    func parking(of kind: PlatformKind) -> Parking? { nil }
    func test(_ platform: BelfryService.Platform, devices: [DeviceToken]) async -> CredentialsTest { .works }
}
