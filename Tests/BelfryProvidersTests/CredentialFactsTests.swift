import BelfryService
import BelfryTesting
import Dispatch
import Foundation
import Testing

@testable import BelfryProviders

/// Stored credentials are opened once, and the facts shown about them are stored.
@Suite struct CredentialFactsTests {
    @Test func `a saved p12 is stored opened with its facts`() async throws {
        let p12 = try Self.p12()
        try await TestProviders.run { providers in
            let service = CredentialsService(dependencies: providers.dependencies)
            let (uuid, holder) = (UUID(), ShareHolder(application: Key(1), tenant: nil))
            let entered: [String: JSONValue] = [
                "topic": .string("com.example.app"), "passphrase": .string("x"),
                // As `base64` prints it.
                "apns_certificate": .string(
                    Data(p12).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]) + "\n"),
            ]
            let saved = try await service.sealed(
                entered, kind: .ios, mode: .development, platform: uuid, by: .tenant, for: holder)
            #expect(
                saved.facts.published == [
                    "topic": "com.example.app", "certificate_topic": "com.example.app",
                    "certificate_subject": "CN=x,UID=com.example.app",
                    "certificate_environments": "development, production",
                ])
            let expiresAt = try #require(saved.facts.expiresAt)
            #expect(expiresAt > Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)))
            let platform = Self.platform(uuid, saved.seal, facts: saved.facts)
            let stored = try APNsPlatformCredentials(opening: platform, with: providers.dependencies.vault)
            guard case .pair(let certificates, _) = stored.identity else {
                Issue.record("the passphrase is still needed")
                return
            }
            #expect(certificates.count == 1)
            #expect(try await service.examine(platform).seal == nil)
        }
    }

    @Test func `a p12 that an older version stored is opened once`() async throws {
        let p12 = try Self.p12()
        try await TestProviders.run { providers in
            let clock = providers.clock
            let store = try SQLiteStore.temporary(clock: clock)
            let application = try await store.create(.numbered(1))
            let uuid = UUID()
            let old = APNsPlatformCredentials(
                identity: .certificate(p12: p12, passphrase: "x"), topic: "com.example.app")
            let seal = try old.sealed(by: providers.dependencies.vault, platform: uuid)
            let platform = try await store.create(
                NewPlatform(
                    uuid: uuid, applicationKey: application.key, kind: .ios, mode: .development, name: "x",
                    secretHash: [], credentials: seal))
            let service = CredentialsService(dependencies: providers.dependencies)
            let facts = try await service.facts(of: platform, in: store)
            #expect(facts.published["topic"] == "com.example.app" && facts.expiresAt != nil)
            let kept = try #require(try await store.platform(platform.key))
            #expect(kept.facts == facts && kept.credentials != seal)
            #expect(kept.credentialsVersion == platform.credentialsVersion)
            let stored = try APNsPlatformCredentials(opening: kept, with: providers.dependencies.vault)
            #expect(try stored.opened() == stored)
        }
    }

    @Test func `an unopenable stored p12 is marked and not retried`() async throws {
        try await TestProviders.run { providers in
            let store = try SQLiteStore.temporary(clock: providers.clock)
            let application = try await store.create(.numbered(1))
            let uuid = UUID()
            let old = APNsPlatformCredentials(
                identity: .certificate(p12: [0x30, 3, 2, 1, 3], passphrase: ""), topic: "com.example.app")
            let platform = try await store.create(
                NewPlatform(
                    uuid: uuid, applicationKey: application.key, kind: .ios, mode: .development, name: "x",
                    secretHash: [],
                    credentials: try old.sealed(by: providers.dependencies.vault, platform: uuid)))
            let service = CredentialsService(dependencies: providers.dependencies)
            let facts = try await service.facts(of: platform, in: store)
            #expect(facts.published["problem"]?.contains("apns_certificate cannot be used") == true, "\(facts)")
            #expect(try await store.platform(platform.key)?.facts == facts)
            await #expect(throws: ProviderError.self) {
                try await Providers.make(platform, with: providers.dependencies)
            }
        }
    }

    @Test func `a caller with too many files waiting is refused`() async throws {
        let opener = CredentialOpener()
        let (holder, limit) = (ShareHolder(application: Key(1), tenant: nil), ShareLimit(perCaller: 1, total: 2))
        let (starts, started) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        async let first: Void = opener.open(for: holder, under: limit) {
            started.yield()
            gate.wait()
        }
        for await _ in starts { break }
        await #expect(throws: ShareExceeded.self) { try await opener.open(for: holder, under: limit) {} }
        gate.signal()
        try await first
        try await opener.open(for: holder, under: limit) {}
    }

    @Test(arguments: [
        ("apnsKey", "apns_key"), ("apns_certificat", "apns_certificate"), ("teamid", "team_id"),
        ("pasphrase", "passphrase"),
    ])
    func `an unknown field is named with the nearest`(field: String, nearest: String) throws {
        let error = #expect(throws: InvalidInput.self) {
            try APNsPlatformCredentials(entered: ["topic": .string("a.b"), field: .string("x")])
        }
        #expect(error?.problem.hasSuffix("; did you mean \(nearest)?") == true, "\(error?.problem ?? "")")
    }

    private static func platform(_ uuid: UUID, _ seal: Sealed, facts: CredentialFacts?) -> Platform {
        Platform(
            key: Key(1), uuid: uuid, applicationKey: Key(1), kind: .ios, mode: .development, name: "p", secretHash: [],
            credentials: seal, credentialsVersion: 1, parked: nil, createdAt: .zero, facts: facts)
    }

    /// By openssl, for ten days.
    private static func p12() throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "facts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = { (name: String) in folder.appending(path: name).path }
        for arguments in [
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10",
                "-subj",
                "/UID=com.example.app/CN=x", "-addext", "1.2.840.113635.100.6.3.1=DER:0500", "-addext",
                "1.2.840.113635.100.6.3.2=DER:0500", "-keyout", path("key"), "-out", path("pem"),
            ],
            [
                "pkcs12", "-export", "-in", path("pem"), "-inkey", path("key"), "-out", path("p12"), "-passout",
                "pass:x",
            ],
        ] {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["openssl"] + arguments
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
        }
        return Array(try Data(contentsOf: folder.appending(path: "p12")))
    }
}
