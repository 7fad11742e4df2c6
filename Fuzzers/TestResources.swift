import BelfryTesting
import Crypto
import FoundationEssentials

@testable import BelfryService

/// One thing of every kind in a store, and the credentials of each kind of caller.
struct TestResources {
    /// The values of `Authorization`, by the kind of caller.
    let credentials: [String: String]
    /// The ids of the resources, by the parameters of paths.
    let ids: [String: String]

    private static let secret = "secret"
    private static let hash = Array(SHA256.hash(data: Data(secret.utf8)))

    init(in store: SQLiteStore, vault: PlaintextVault, channels: any BroadcastChannels, clock: ManualClock) async throws
    {
        let uuid = UUID(words: 1, 1)
        let application = try await store.create(
            NewApplication(
                uuid: uuid, name: "Bakery", apiKeyHash: Self.hash,
                sharedSecret: try vault.seal(Array(Self.secret.utf8), for: VaultPurpose.sharedSecret(of: uuid))))
        var platforms: [Platform] = []
        for (number, kind) in PlatformKind.allCases.enumerated() {
            platforms.append(
                try await store.create(
                    NewPlatform(
                        uuid: UUID(words: 2, UInt64(number)), applicationKey: application.key, kind: kind,
                        mode: .production, name: kind.rawValue, secretHash: Self.hash,
                        credentials: try vault.seal(
                            Array("org.example.system".utf8),
                            for: VaultPurpose.credentials(of: UUID(words: 2, UInt64(number)))))))
        }
        guard let platform = platforms.first(where: { $0.kind == .ios }) else { preconditionFailure("there is no iOS") }
        let device = try await store.register(.sample(1, topics: ["news"]), as: nil, on: platform)
        let push = try await store.accept(.sample(to: platform))
        let later = clock.now + .seconds(3_600)
        let schedule = try await store.schedule(
            PushRequest(content: .init(body: "later"), target: .everyone), at: later, for: application.key)
        let location = try await store.create(
            try Place(name: "shop", latitude: 1, longitude: 2, radius: 100), of: application.key)
        let group = try await store.create(
            try LocationGroupPlan(name: "shops", summary: "", locations: [location.key]), of: application.key)
        let geofence = try await store.create(
            try GeofencePlan(
                locations: [location.key], trigger: .enter, data: try GeofenceData([:]), expiresAt: later),
            of: application.key)
        let channel = try await channels.createChannel(.latest, on: platform)
        let trigger = try await Self.otherClients(of: application, platforms, in: store)
        let text = AdminKey.Text(id: String(repeating: "0", count: 16), secret: String(repeating: "0", count: 64))
        let key = try await store.create(
            try NewAdminKey(
                id: text.id, name: try Name("root"), scope: .operator, bounds: .everything,
                secretHash: SecretHash.of(text.secret)))
        credentials = [
            "operator": "Bearer \(text.text)", "application": Self.basic(application.uuid),
            "device": Self.basic(platform.uuid),
            "carma": "Basic \(Data("anna:\(Self.secret)".utf8).base64EncodedString())",
        ]
        ids = [
            "tenant_uuid": try await store.tenant(Tenant.first)?.uuid.lowercased ?? "",
            "app_uuid": application.uuid.lowercased, "platform_uuid": platform.uuid.lowercased,
            "device_uuid": device.uuid.lowercased, "receipt_id": push.receiptID.lowercased, "key_id": key.id,
            "topic": "news", "topic_id": "1", "tag": "news", "tag_or_platform": "news", "schedule_id": schedule.key.id,
            "location_id": "\(location.key)",
            "group_id": "\(group.key)", "location_group_id": "\(group.key)", "geofence_id": "\(geofence.key)",
            "channel_id": channel.id.replacing("/", with: "%2F").replacing("+", with: "%2B"),
            "key": Self.secret, "customer_id": "1", "app_id": "a", "original_id": "o",
            "trigger_id": "\(trigger.key)", "list_id": "1000000001",
        ]
    }

    /// Makes what softphones of Acrobits and apps of Carma need.
    private static func otherClients(
        of application: Application, _ platforms: [Platform], in store: SQLiteStore
    ) async throws -> CarmaTrigger {
        for platform in platforms where [.ios, .androidFCM].contains(platform.kind) {
            try await store.set(
                AcrobitsAppID(name: "a", applicationKey: application.key, platformKey: platform.key))
        }
        _ = try await store.create(
            try NewOpenEndpoint(
                kind: .acrobitsReporter, application: application.key, keyHash: SecretHash.of(secret),
                options: [AcrobitsOption.template: "/t/%account[username]%/%pushToken%&a=%pushappid%"]))
        // Their keys are the names of their kinds.
        for kind in OpenEndpoint.Kind.allCases where kind.takesTokens {
            _ = try await store.create(
                try NewOpenEndpoint(
                    kind: kind, application: application.key, keyHash: SecretHash.of(kind.rawValue),
                    options: ["a": platforms.first { $0.kind == .ios }?.uuid.lowercased ?? ""]))
        }
        _ = try await store.createCarmaAccount(
            customerID: 1, user: "anna", passwordHash: Array(PlainPasswords.hash(secret).utf8), tokenHash: hash)
        let app = try await store.createCarmaApp(customerID: 1, appID: "a", for: application.key)
        let template = try JSONValue(json: #"{"languages":{"en":{"alert":"{{a}}","html":"{{b}}"}}}"#.utf8)
        return try await store.createCarmaTrigger(try CarmaTemplate(template), of: app)
    }

    /// A path with what its parameters stand for.
    func filled(_ path: some Sequence<UInt8>) -> String {
        String(decoding: Array(path), as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false)
            .map { part in part.hasPrefix(":") ? ids[String(part.dropFirst())] ?? String(part) : String(part) }
            .joined(separator: "/")
    }

    private static func basic(_ user: UUID) -> String {
        "Basic \(Data("\(user.lowercased):\(secret)".utf8).base64EncodedString())"
    }
}
