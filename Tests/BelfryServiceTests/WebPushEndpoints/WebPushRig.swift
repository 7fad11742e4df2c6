import BelfryTesting
import Crypto
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyFiles
import NIOCore
import Testing

@testable import BelfryService

/// The push service for application servers over a store in memory, with an application that has devices of some types.
struct WebPushRig {
    let store: SQLiteStore
    let clock: ManualClock
    let services: Services
    let application: BelfryService.Application
    private let platforms: [PlatformKind: BelfryService.Platform]
    private let responder: RouterResponder<APIContext>

    static let url = "https://push.example.org"
    /// A body as large as Nextcloud's, whose library fills messages up to that size.
    static let body = (0..<2_923).map { UInt8(truncatingIfNeeded: $0) }

    init(
        _ access: WebPushAccess = .on, kinds: [PlatformKind] = [.ios, .androidFCM, .web],
        limits: [Principal.Kind: RateLimit] = [:], shares: ConcurrencyLimiter.Limits = ShareLimit.standard
    ) async throws {
        clock = ManualClock()
        store = try SQLiteStore.temporary(clock: clock)
        (application, platforms) = try await Self.application(in: store, of: Tenant.first, access, kinds)
        let limiter = RequestLimiter(options: RequestLimiter.Options(limits: limits), clock: clock)
        services = Services(store, clock: clock, requestLimiter: limiter, shares: ConcurrencyLimiter(shares))
        let router = ResponseMiddleware.router(clock: clock)
        WebPushRoutes(services, address: ServerAddress(publicURL: Self.url)).add(to: router)
        responder = router.buildResponder()
    }

    /// Another tenant of the same server.
    init(beside other: WebPushRig) async throws {
        (store, clock, services, responder) = (other.store, other.clock, other.services, other.responder)
        let tenant = try await store.create(NewTenant(uuid: UUID(), name: try Name("other")))
        (application, platforms) = try await Self.application(in: store, of: tenant.key, .on, [.web])
    }

    private static func application(
        in store: SQLiteStore, of tenant: Key<Tenant>, _ access: WebPushAccess, _ kinds: [PlatformKind]
    ) async throws -> (BelfryService.Application, [PlatformKind: BelfryService.Platform]) {
        let application = try await store.create(.test(PlaintextVault(), tenant: tenant))
        try await store.edit(application.key, ApplicationEdit(webPush: access))
        var platforms: [PlatformKind: BelfryService.Platform] = [:]
        for kind in kinds { platforms[kind] = try await store.create(.test(kind, of: application)) }
        return (application, platforms)
    }

    func platform(_ kind: PlatformKind) throws -> BelfryService.Platform { try #require(platforms[kind]) }

    func device(_ kind: PlatformKind, _ name: String = "a") async throws -> Device {
        try await store.register(
            try Registration(
                token: DeviceToken(bytes: Array("\(kind.rawValue) \(name)".utf8)), about: Device.About(),
                customUserID: .keep, topics: .keep), as: nil, on: try platform(kind))
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], _ body: [UInt8] = []
    ) async throws -> TestAnswer {
        try await Hummingbird.Application(responder: responder).test(.router) { client in
            try TestAnswer(
                try await client.execute(uri: path, method: method, headers: headers, body: ByteBuffer(bytes: body)))
        }
    }

    /// A request of a device, with the credentials of its app.
    func ask(
        _ method: HTTPRequest.Method, _ path: String, of device: Device, _ kind: PlatformKind, _ body: String = ""
    ) async throws -> TestAnswer {
        let credentials = TestServer.User.basic(try platform(kind).uuid.uuidString, TestServer.secret)
        return try await send(
            method, "/v1/registration/\(device.uuid.lowercased)/endpoints\(path)", [.authorization: credentials],
            Array(body.utf8))
    }

    /// The path of a new endpoint.
    func endpoint(of device: Device, _ kind: PlatformKind, _ body: String = "") async throws -> String {
        let made = try await ask(.post, "", of: device, kind, body)
        #expect(made.status == 201, "\(made)")
        let url = try #require(made["endpoint"]?.stringValue)
        #expect(url.hasPrefix("\(Self.url)/wp/") && url.utf8.count < 1_000)
        return String(url.dropFirst(Self.url.utf8.count))
    }

    /// The headers of a message as pywebpush sends them, with changes; nil leaves one out.
    static func headers(_ changes: [HTTPField.Name: String?] = [:]) -> HTTPFields {
        var headers: HTTPFields = [.contentEncoding: "aes128gcm", .ttl: "60"]
        for (name, value) in changes { headers[name] = value }
        return headers
    }

    func post(
        _ path: String, _ changes: [HTTPField.Name: String?] = [:], _ body: [UInt8] = WebPushRig.body
    ) async throws -> TestAnswer {
        try await send(.post, path, Self.headers(changes), body)
    }

    /// The path of an accepted message.
    static func location(_ answer: TestAnswer) throws -> String {
        #expect(answer.status == 201, "\(answer)")
        let url = try #require(answer.headers[.location])
        #expect(url.hasPrefix(Self.url))
        return String(url.dropFirst(Self.url.utf8.count))
    }

    /// The header of an application server, signed by its key as RFC 8292 has it.
    func vapid(
        _ key: P256.Signing.PrivateKey, audience: String = WebPushRig.url, expires: Int64 = 3_600,
        header: String = #"{"typ":"JWT","alg":"ES256"}"#
    ) throws -> String {
        let end = clock.now.milliseconds / 1_000 + expires
        let claims = #"{"aud":"\#(audience)","exp":\#(end),"sub":"mailto:ops@example.org"}"#
        let signed = "\(Base64.encode(header.utf8)).\(Base64.encode(claims.utf8))"
        let signature = try key.signature(for: Array(signed.utf8))
        return "\(signed).\(Base64.encode(signature.rawRepresentation))"
    }
}

extension P256.Signing.PrivateKey {
    /// As applications publish it.
    var vapidText: String { Base64.encode(publicKey.x963Representation) }
}
