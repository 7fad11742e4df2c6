import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// Custom data of a sender is sent as it was written, from each database and at each attempt.
@Suite struct CustomDataConformance {
    private static let data =
        #"{"id":123456789012345678901234567890,"price":12.50,"one":1.0,"zero":-0,"small":1e-400,"big":1E+300,"#
        + "\"\u{E9}\":1,\"e\u{301}\":2,\"\u{212B}\":3,\"\u{C5}\":4,"
        + #""z":[1.10,{"b":1,"a":2}],"a":{"":null},"text":"\u007f \u2028 🎉"}"#

    private static func content() throws -> Push.Content {
        guard case .object(let members) = try JSONValue(json: data.utf8) else { throw InvalidInput.noObject }
        return Push.Content(
            body: "B", shared: SharedFields(data: members),
            custom: ["ios": .object(["extra": .object(members)]), "android": .object(members)])
    }

    @Test(arguments: Engine.allCases)
    func `custom data are equal on each attempt and node`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let content = try Self.content()
            let bytes = Array(content.storedText.utf8)
            _ = try await fixture.registerMany(2)
            let request = PushRequest(content: content, target: .everyone)
            let push = try await PushService(store: fixture.store).send(request, for: fixture.application.key)
            try await fixture.fanOut()
            for _ in 0..<3 {
                let batch = try await fixture.claimOne()
                let load = try #require(try await fixture.ports.load(batch))
                #expect(Array(load.push.content.storedText.utf8) == bytes)
                let retryAt = fixture.clock.now + .seconds(5)
                let settlement = Settlement(batch: batch, answers: [.pending, .pending], retryAt: retryAt)
                #expect(try await fixture.ports.settle(settlement))
                fixture.clock.advance(by: .seconds(5))
            }
            // The node dies, and another one takes the lease over.
            _ = try await fixture.claimOne()
            fixture.clock.advance(by: .seconds(120))
            let taken = try #require(try await fixture.ports.load(try await fixture.claimOne()))
            #expect(Array(taken.push.content.storedText.utf8) == bytes)
            let read = try #require(try await fixture.store.request(of: push.key))
            #expect(Array(read.content.storedText.utf8) == bytes)
            #expect(
                read.content.shared.data.map { Array($0.key.utf8) } == content.shared.data.map { Array($0.key.utf8) })
        }
    }

    @Test(arguments: Engine.allCases)
    func `a schedule's custom data are equal when due`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let content = try Self.content()
            let service = PushService(store: fixture.store)
            let dueAt = fixture.clock.now + .seconds(3_600)
            let schedule = try await service.schedule(
                PushRequest(content: content, target: .everyone), at: dueAt, for: fixture.application.key)
            let stored = try #require(try await fixture.ports.schedule(schedule.key, of: fixture.application.key))
            #expect(stored.pushRequest.content.storedText.utf8.elementsEqual(content.storedText.utf8))
            fixture.clock.advance(by: .seconds(3_600))
            let new = try await PushBuilder(store: fixture.store, clock: fixture.clock).build(
                stored.pushRequest, for: fixture.application.key)
            let push = try #require(try await fixture.ports.release(stored, as: new))
            let request = try #require(try await fixture.store.request(of: push.key))
            #expect(request.content.storedText.utf8.elementsEqual(content.storedText.utf8))
        }
    }
}

extension InvalidInput {
    fileprivate static let noObject = InvalidInput(field: "data", "is no object")
}
