import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// What a store knows of single devices and the pushes that they got.
@Suite struct PushHistoryConformance {
    @Test(arguments: Engine.allCases)
    func `answers of devices are found in many pushes`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let store = fixture.store
            let devices = try await fixture.registerMany(5)
            var pushes: [Key<Push>] = []
            for _ in 0..<2 {
                pushes.append(try await fixture.push().key)
                try await fixture.fanOut(batchesOf: 2)
                for batch in try await fixture.claim(9) {
                    let answers = batch.devices.map { $0 == devices[2] ? Answer.gone : .accepted }
                    #expect(try await store.settle(Settlement(batch: batch, answers: answers, retryAt: nil)))
                }
            }
            let one = try await fixture.push(naming: [fixture.platform.key: [devices[1]]]).key
            let found = try await store.allDevices()
            let asked = found.filter { $0.key == devices[2] || $0.key == devices[4] }
            #expect(
                try await store.answers(of: asked, in: pushes + [one])
                    == Dictionary(
                        uniqueKeysWithValues: pushes.map { ($0, [devices[2]: .gone, devices[4]: .accepted]) }))
            #expect(try await store.answers(of: found, in: [one]) == [one: [devices[1]: .pending]])
            #expect(try await store.answers(of: found, in: []).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices of a push are found by one answer`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let devices = try await fixture.registerMany(4)
            let push = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let answers: [Answer] = [.gone, .refused(.badToken), .refused(.other), .refused(.badToken)]
            #expect(try await fixture.store.settle(Settlement(batch: batch, answers: answers, retryAt: nil)))
            let page = try await fixture.store.answers(
                in: push.key, kind: .all, only: .refused(.badToken), after: nil, limit: 9)
            let naming = fixture.store.secrets.naming
            #expect(page.answers.map(\.uuid) == [devices[1], devices[3]].map { naming.uuid(of: $0) })
            #expect(page.next == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `reports are those of the device and the push`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (device, other) = (try await fixture.register("a"), try await fixture.register("b"))
            let (push, before) = (try await fixture.push(), try await fixture.push())
            let events = [(AnalyticsKind.received, device), (.opened, device), (.received, other)].map { kind, device in
                AnalyticsEvent(kind: kind, time: fixture.clock.now, device: device.uuid, receiptID: push.receiptID)
            }
            _ = try await fixture.store.record(events, on: fixture.platform, lateMax: .seconds(86_400))
            #expect(try await fixture.store.reports(of: device, in: push.key) == [.received, .opened])
            #expect(try await fixture.store.reports(of: other, in: push.key) == [.received])
            #expect(try await fixture.store.reports(of: device, in: before.key).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the audit log knows who sent a push`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let pushes = PushService(store: fixture.store)
            let request = PushRequest(content: Push.Content(body: "hello"), target: .everyone)
            let own = try await pushes.send(request, for: fixture.application.key)
            let push = try await pushes.send(request, for: fixture.application, by: .local(systemUser: "ann"))
            let line = try #require(try await fixture.store.auditEntry(of: push.head))
            #expect(line.change.action == "push.create" && line.change.address == "local:ann")
            #expect(try await fixture.store.auditEntry(of: own.head) == nil)
        }
    }
}
