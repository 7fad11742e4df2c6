import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Dry runs of imports: what they say of each row is what the import then does, whatever the database holds.
@Suite struct ImportTrialConformance {
    /// Lists whose rows repeat one another's tokens, UUIDs, users and topics, and those of devices that are there.
    private struct Lists {
        var dice: SplitMix64

        mutating func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &dice) }

        private static func uuid(_ number: Int) -> UUID { UUID(words: 0x1111_2222_3333_4444, UInt64(number)) }

        mutating func registration() throws -> Registration {
            let user = ["ada", "bob", nil][roll(3)]
            let topics = (0..<roll(3)).map { _ in "topic \(roll(7))" }
            return try Registration(
                token: DeviceToken(bytes: Array("token \(roll(14))".utf8)),
                about: Device.About(model: roll(4) == 0 ? "model" : nil, alias: ["a", "b", nil][roll(3)]),
                customUserID: user.map { .set($0) } ?? .clear, topics: .replace(Set(topics)))
        }

        mutating func device() throws -> DeviceImport {
            DeviceImport(
                registration: try registration(), uuid: roll(5) == 0 ? nil : Self.uuid(roll(14)), isActive: roll(6) > 0)
        }

        /// Rows as a reader hands them out; some cannot be read.
        mutating func rows(_ count: Int) throws -> [ImportReader.Row] {
            try (1...count).map { number in
                guard roll(12) > 0 else {
                    return ImportReader.Row(number: number, outcome: .failure(InvalidInput(field: "row", "is no JSON")))
                }
                let device = try device()
                var row = ImportRow()
                row.token = device.registration.token.text(for: .webhook)
                row.id = device.uuid?.lowercased
                row.about = device.registration.about
                if case .set(let user) = device.registration.customUserID { row.customUserID = user }
                row.topics = device.registration.topics.wanted.sorted()
                row.isActive = device.isActive
                return ImportReader.Row(number: number, outcome: .success(row))
            }
        }
    }

    @Test(arguments: Engine.allCases, [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `a dry run predicts each row's import`(engine: Engine, seed: UInt64) async throws {
        let quotas = Quotas([.devices: 11, .topics: 6, .userDevices: 4])
        try await TestStore.play(on: engine, quotas: seed % 2 == 0 ? quotas : .standard) { fixture in
            var lists = Lists(dice: SplitMix64(seed: seed))
            let (store, platform) = (fixture.store, try await fixture.webhooks())
            // What is there: devices of earlier imports, seen, unseen and retired ones, and those of apps alone.
            let before = ImportService(store: store, platforms: [platform])
            for row in try lists.rows(12) { _ = try await before.run([row]) }
            fixture.clock.advance(by: .seconds(1_000))
            if seed % 3 == 0 {
                while try await store.deleteExpired(.unseen, before: fixture.clock.now).rows > 0 {}
            }
            for _ in 0..<6 {
                let known = try #require(try await store.platform(platform.uuid))
                let uuid = try lists.device().uuid
                _ = try? await store.register(try lists.registration(), as: uuid, on: known)
            }
            let known = try #require(try await store.platform(platform.uuid))
            let rows = try lists.rows(160)
            let trial = try await ImportService(dryRunOf: fixture.application, store: store, platforms: [known])
            var judged: [ImportService.Verdict] = []
            for start in stride(from: 0, to: rows.count, by: 40) {
                judged += try await trial.run(Array(rows[start..<start + 40]))
            }
            let count = try await store.deviceCount(on: known.key)
            let service = ImportService(store: store, platforms: [known])
            var done: [ImportService.Verdict] = []
            for row in rows { done += try await service.run([row]) }
            for (judged, done) in zip(judged, done) { #expect(judged == done) }
            #expect(judged.count == rows.count)
            let kinds = Set(done.map(\.outcome.name))
            #expect(kinds == ["new", "updated", "duplicate", "refused"], "the list has rows of each kind")
            let new = done.count { $0.outcome == .new }
            #expect(try await store.deviceCount(on: known.key) == count + new, "the dry run wrote nothing")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a dry run of an imported list recognizes it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, platform) = (fixture.store, try await fixture.webhooks())
            let rows = (1...300).map { number in
                var row = ImportRow()
                row.token = "https://example.com/\(number)"
                row.id = UUID(words: 5, UInt64(number)).lowercased
                row.topics = ["t\(number % 3)"]
                return ImportReader.Row(number: number, outcome: .success(row))
            }
            for verdict in [ImportVerdict.new, .duplicate] {
                let known = try #require(try await store.platform(platform.uuid))
                let trial = try await ImportService(dryRunOf: fixture.application, store: store, platforms: [known])
                #expect(try await trial.run(rows).map(\.outcome) == Array(repeating: verdict, count: 300))
                // The same list behind itself, far below.
                #expect(try await trial.run(rows).allSatisfy { $0.outcome == .duplicate })
                _ = try await ImportService(store: store, platforms: [known]).run(rows)
            }
        }
    }
}

extension TestStore {
    /// A platform that takes any text as a token.
    func webhooks() async throws -> Platform {
        try await store.create(
            NewPlatform(
                uuid: UUID(words: 7, 7), applicationKey: application.key, kind: .webhook, mode: .production,
                name: "hooks", secretHash: [1], credentials: Sealed(bytes: [1])))
    }
}
