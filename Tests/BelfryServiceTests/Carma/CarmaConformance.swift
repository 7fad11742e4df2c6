import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct CarmaConformance {
    private static func template() throws -> CarmaTemplate {
        try CarmaTemplate(try JSONValue(json: #"{"name":"n","languages":{"en":{"alert":"Hi"}}}"#.utf8))
    }

    @Test(arguments: Engine.allCases)
    func `an account is found and changed by user and token`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let made = try await store.createCarmaAccount(
                customerID: 7, user: "anna", passwordHash: [1], tokenHash: [2])
            let other = try await store.createCarmaAccount(
                customerID: 8, user: "anna", passwordHash: [3], tokenHash: [4])
            await #expect(throws: StoreError.self) {
                try await store.createCarmaAccount(customerID: 7, user: "anna", passwordHash: [5], tokenHash: [6])
            }
            #expect(try await store.carmaAccounts() == [made, other])
            #expect(try await store.carmaAccounts(user: "anna") == [made, other])
            #expect(try await store.carmaAccounts(user: "bob") == [])
            #expect(try await store.carmaAccount(tokenHash: [4]) == other)
            #expect(try await store.replaceSecrets(of: made.key, passwordHash: nil, tokenHash: [9]))
            #expect(try await store.carmaAccount(tokenHash: [2]) == nil)
            #expect(try await store.carmaAccount(tokenHash: [9])?.passwordHash == [1])
            #expect(try await store.delete(other.key))
            #expect(try await store.delete(other.key) == false)
            #expect(try await store.carmaAccounts().map(\.key) == [made.key])
        }
    }

    @Test(arguments: Engine.allCases)
    func `an app and its triggers last until deleted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let app = try await store.createCarmaApp(customerID: 7, appID: "a.b", for: fixture.application.key)
            await #expect(throws: StoreError.self) {
                try await store.createCarmaApp(customerID: 7, appID: "a.b", for: fixture.application.key)
            }
            #expect(try await store.carmaApp("a.b", of: 7) == app)
            #expect(try await store.carmaApp("a.b", of: 8) == nil)
            let trigger = try await store.createCarmaTrigger(try Self.template(), of: app)
            #expect(try await store.carmaTrigger(trigger.key) == trigger)
            #expect(try await store.carmaTriggers(of: app.key) == [trigger])
            let second = try await store.createCarmaTrigger(try Self.template(), of: app)
            #expect(try await store.delete(trigger.key))
            #expect(try await store.carmaTriggers(of: app.key) == [second])
            #expect(try await store.delete(app.key))
            #expect(try await store.carmaTrigger(second.key) == nil)
            #expect(try await store.carmaApps() == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a token belongs to its latest contact; the oldest go`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            let uuid = UUID()
            func device(
                _ contact: String, _ token: String, _ country: String? = nil,
                _ invalidation: CarmaDevice.Invalidation = .none
            ) -> CarmaDevice {
                CarmaDevice(
                    applicationKey: application, contact: contact, token: token, platformKey: fixture.platform.key,
                    device: uuid, country: country, invalidation: invalidation,
                    invalidatedAt: invalidation == .none ? nil : Instant(milliseconds: 5))
            }
            try await store.note(device("a", "t", "Sweden"))
            try await store.note(device("a", "t"))
            #expect(try await store.carmaDevices(of: "a", application) == [device("a", "t", "Sweden")])
            try await store.note(device("a", "t", nil, .byApp))
            #expect(try await store.carmaDevices(of: "a", application) == [device("a", "t", "Sweden", .byApp)])
            try await store.note(device("b", "t"))
            #expect(try await store.carmaDevices(of: "a", application) == [])
            for number in 0..<CarmaDevice.perContact { try await store.note(device("b", "n\(number)")) }
            let kept = try await store.carmaDevices(of: "b", application)
            #expect(kept.count == CarmaDevice.perContact && kept.first?.token == "n0")
            try await store.forgetCarmaContact("b", of: application)
            #expect(try await store.carmaDevices(of: "b", application) == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a merge moves tokens and messages, each token once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            for (contact, token) in [("a", "t"), ("a", "u"), ("b", "t")] {
                try await store.note(
                    CarmaDevice(
                        applicationKey: application, contact: contact, token: token, platformKey: fixture.platform.key,
                        device: UUID()))
            }
            _ = try await store.create(
                NewCarmaMessage(
                    applicationKey: application, trigger: Key(3), contact: "a", name: "n", html: "<p>",
                    pageHash: [UInt8](repeating: 1, count: 32)))
            _ = try await store.mergeUser("a", into: "b", of: application)
            #expect(try await store.carmaDevices(of: "b", application).map(\.token).sorted() == ["t", "u"])
            #expect(try await store.carmaDevices(of: "a", application) == [])
            #expect(try await store.carmaMessages(of: "b", application).map(\.name) == ["n"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a fresh registration is not overwritten by an older reading`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            let device = try await store.register(.sample(1), as: nil, on: fixture.platform)
            func row(_ invalidation: CarmaDevice.Invalidation = .none) -> CarmaDevice {
                CarmaDevice(
                    applicationKey: application, contact: "a", token: "t", platformKey: fixture.platform.key,
                    device: device.ownUUID, invalidation: invalidation,
                    invalidatedAt: invalidation == .none ? nil : Instant(milliseconds: 5))
            }
            try await store.note(row())
            try await store.unregister(device.uuid, on: fixture.platform.key)
            let gone = try await store.device(device.uuid, on: fixture.platform.key)
            _ = try await store.register(.sample(1), as: device.uuid, on: fixture.platform)
            #expect(try await store.note(row(.byProvider), insteadOf: row(), readWith: gone) == false)
            #expect(try await store.carmaDevices(of: "a", application) == [row()])
            try await store.unregister(device.uuid, on: fixture.platform.key)
            #expect(try await store.note(row(.byProvider), insteadOf: row(), readWith: gone))
            #expect(try await store.note(row(.replaced), insteadOf: row(), readWith: gone) == false)
            #expect(try await store.carmaDevices(of: "a", application) == [row(.byProvider)])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a message is found by page, read once, latest kept`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            func message(_ number: Int) -> NewCarmaMessage {
                NewCarmaMessage(
                    applicationKey: application, trigger: Key(3), contact: "a", name: "n\(number)", html: "<p>",
                    pageHash: [UInt8](repeating: UInt8(number), count: 32))
            }
            let made = try await store.create(message(0))
            #expect(try await store.carmaMessage(pageHash: message(0).pageHash) == made)
            #expect(try await store.carmaMessage(pageHash: message(1).pageHash) == nil)
            let receiptID = UUID()
            try await store.setPush(receiptID, schedule: Key(4), of: made.key)
            #expect(try await store.markRead(made.key))
            #expect(try await store.markRead(made.key) == false)
            let read = try #require(try await store.carmaMessages(of: "a", application).first)
            #expect(read.receiptID == receiptID && read.schedule == Key(4) && read.readAt != nil)
            for number in 1...CarmaMessage.perContact { _ = try await store.create(message(number)) }
            let kept = try await store.carmaMessages(of: "a", application)
            #expect(kept.count == CarmaMessage.perContact && kept.first?.name == "n100" && kept.last?.name == "n1")
            try await store.forgetCarmaContact("a", of: application)
            #expect(try await store.carmaMessages(of: "a", application).isEmpty)
            let old = try await store.create(message(1))
            #expect(try await store.deleteExpired(.pushes, before: old.sentAt).rows == 0)
            #expect(try await store.carmaMessage(pageHash: message(1).pageHash) == old)
            #expect(try await store.deleteExpired(.pushes, before: old.sentAt + .milliseconds(1)).rows == 1)
            #expect(try await store.carmaMessage(pageHash: message(1).pageHash) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an import is found by id and reports its list`(
        engine: Engine
    ) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, application) = (fixture.store, fixture.application.key)
            let app = try await store.createCarmaApp(customerID: 7, appID: "a.b", for: application)
            let other = try await store.createCarmaApp(customerID: 7, appID: "c.d", for: application)
            let settings = CarmaImport.Settings(
                kind: .replace, delimiter: 9, encoding: .latin1, identityColumn: "mail \"x\"")
            let (uuid, second) = (UUID(), UUID())
            let made = try await store.createCarmaImport(uuid, settings, of: app.key)
            #expect(made.state == .waiting && made.createdAt == fixture.clock.now)
            #expect(try await store.carmaImport(uuid, of: app.key) == made)
            #expect(try await store.carmaImport(uuid, of: other.key) == nil)
            #expect(try await store.carmaImport(made.key) == made)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await store.beginCarmaImport(made.key) == fixture.clock.now)
            #expect(try await store.beginCarmaImport(Key(made.key.rawValue + 1)) == nil)
            #expect(try await store.carmaImport(made.key)?.state == .running)
            try await store.endCarmaImport(made.key, CarmaImportEnd(taken: 3, refused: 2, reason: "line 4: no"))
            let ended = try #require(try await store.carmaImport(made.key))
            #expect(ended.state == .finished && ended.taken == 3 && ended.refused == 2 && ended.reason == "line 4: no")
            _ = try await store.beginCarmaImport(made.key)
            #expect(try await store.carmaImport(made.key)?.taken == 0)
            try await store.endCarmaImport(made.key, CarmaImportEnd(taken: 0, refused: 0, reason: "no column"))
            #expect(try await store.carmaImport(made.key)?.state == .failed)
            let later = try await store.createCarmaImport(second, settings, of: other.key)
            #expect(try await store.deleteExpired(.pushes, before: later.createdAt).rows == 1)
            #expect(try await store.carmaImport(made.key) == nil)
            #expect(try await store.delete(other.key))
            #expect(try await store.carmaImport(later.key) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the latest imports of an app are kept`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let app = try await store.createCarmaApp(customerID: 7, appID: "a.b", for: fixture.application.key)
            let settings = CarmaImport.Settings(
                kind: .add, delimiter: 44, encoding: .utf8, identityColumn: "originalId")
            let first = try await store.createCarmaImport(UUID(), settings, of: app.key)
            let second = try await store.createCarmaImport(UUID(), settings, of: app.key)
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 2..<CarmaImport.perApp {
                    group.addTask { _ = try await store.createCarmaImport(UUID(), settings, of: app.key) }
                }
            }
            #expect(try await store.carmaImport(first.key) == first)
            _ = try await store.createCarmaImport(UUID(), settings, of: app.key)
            #expect(try await store.carmaImport(first.key) == nil)
            #expect(try await store.carmaImport(second.key) == second)
        }
    }
}
