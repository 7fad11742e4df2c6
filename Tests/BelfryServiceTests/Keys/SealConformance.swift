import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct SealConformance {
    @Test(arguments: Engine.allCases, [1, 2, 100])
    func `every sealed secret is found once and names its purpose`(
        engine: Engine, limit: Int
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let other = try await store.create(.named("weather"))
            let platform = try await store.create(.of(other))
            let reservation = Reservation(
                name: Array(repeating: 9, count: 32), caller: Principal(.sender, 1),
                request: Array(repeating: 1, count: 32),
                idempotentID: UUID(), hold: .seconds(30))
            _ = try await store.reserve(reservation)
            #expect(try await found(.answer, in: store, by: limit) == [:])
            let answer = Sealed(bytes: [5, 5])
            try await store.complete(
                reservation.name, idempotentID: reservation.idempotentID,
                with: StoredResponse(status: 201, content: answer)
            )
            var people: [Key<Person>] = []
            for number in 0..<3 { people.append(try await store.create(.person("\(number)@a.example")).key) }
            for person in people.dropFirst() {
                try await store.setTwoFactor(
                    of: person, to: Sealed(bytes: person.bytes), lastStep: 1, recoveryCodeHashes: [])
            }
            #expect(
                try await found(.twoFactor, in: store, by: limit)
                    == Dictionary(
                        uniqueKeysWithValues: people.dropFirst().map {
                            (VaultPurpose.twoFactor(of: $0), Sealed(bytes: $0.bytes))
                        }))
            let applications = [fixture.application, other]
            let platforms = [fixture.platform, platform]
            #expect(
                try await found(.sharedSecret, in: store, by: limit)
                    == Dictionary(
                        uniqueKeysWithValues: applications.map {
                            (VaultPurpose.sharedSecret(of: $0.uuid), $0.sharedSecret)
                        }))
            #expect(
                try await found(.credentials, in: store, by: limit)
                    == Dictionary(
                        uniqueKeysWithValues: platforms.map { (VaultPurpose.credentials(of: $0.uuid), $0.credentials) })
            )
            #expect(
                try await found(.answer, in: store, by: limit)
                    == [VaultPurpose.answer(to: reservation.name): answer])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a secret is sealed again unless it was changed since`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let secret = try #require(try await store.sealedSecrets(.credentials, after: nil, limit: 9).first)
            let (first, second, third) = (Sealed(bytes: [1]), Sealed(bytes: [2]), Sealed(bytes: [3]))
            #expect(try await store.reseal(secret, as: first))
            #expect(try await store.platform(fixture.platform.uuid)?.credentials == first)
            #expect(try await store.platform(fixture.platform.uuid)?.credentialsVersion == 1)
            try await store.replaceCredentials(of: fixture.platform.key, with: second)
            let stale = SealedSecret(kind: .credentials, name: secret.name, seal: first)
            #expect(try await store.reseal(stale, as: third) == false)
            #expect(try await store.platform(fixture.platform.uuid)?.credentials == second)
            let shared = try #require(try await store.sealedSecrets(.sharedSecret, after: nil, limit: 9).first)
            #expect(try await store.reseal(shared, as: third))
            #expect(try await store.application(fixture.application.uuid)?.sharedSecret == third)
            let person = try await store.create(.person("ann@a.example")).key
            try await store.setTwoFactor(of: person, to: first, lastStep: 1, recoveryCodeHashes: [])
            let code = try #require(try await store.sealedSecrets(.twoFactor, after: nil, limit: 9).first)
            #expect(try await store.reseal(code, as: second))
            #expect(try await store.twoFactor(of: person)?.secret == second)
            #expect(try await store.reseal(code, as: third) == false)
        }
    }

    private func found(_ kind: SealedSecret.Kind, in store: any Store, by limit: Int) async throws -> [String: Sealed] {
        var found: [String: Sealed] = [:]
        var last: [UInt8]?
        while true {
            let secrets = try await store.sealedSecrets(kind, after: last, limit: limit)
            #expect(secrets.count <= limit && secrets.allSatisfy { $0.kind == kind })
            for secret in secrets {
                let old = found.updateValue(secret.seal, forKey: try #require(secret.purpose))
                #expect(old == nil, "found twice")
            }
            guard let next = secrets.last?.name else { return found }
            last = next
        }
    }
}

extension NewPerson {
    fileprivate static func person(_ email: String) throws -> NewPerson {
        try NewPerson(
            email: EmailAddress(email), name: Name("A person"), scope: .operator, bounds: .everything,
            passwordHash: "hash")
    }
}
