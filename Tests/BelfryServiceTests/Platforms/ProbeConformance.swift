import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

/// Attempts with credentials that were refused.
@Suite struct ProbeConformance {
    @Test(arguments: Engine.withModel)
    func `refused credentials are tried with one burst, later each time`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(3)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            try await fixture.refuse(try await fixture.claimOne(), "revoked")
            let parked = try #require(try await fixture.parking())
            #expect(parked.probe == Parking.Probe(at: fixture.clock.now + .seconds(30), count: 0))
            #expect(try await fixture.ports.receipt(push.receiptID)?.parked.map(\.parking) == [parked])
            #expect(try await fixture.claim(9).isEmpty)
            for (count, seconds) in [60, 120, 240, 480, 900, 900].enumerated() {
                fixture.clock.advance(by: .seconds(900))
                let probe = try await fixture.claim(9)
                #expect(probe.count == 1)
                #expect(try await fixture.claim(9).isEmpty)
                try await fixture.refuse(probe[0], "still revoked")
                let next = Parking.Probe(at: fixture.clock.now + .seconds(seconds), count: count + 1)
                #expect(try await fixture.parking()?.probe == next)
                #expect(try await fixture.parking()?.since == parked.since)
            }
        }
    }

    @Test(arguments: Engine.withModel)
    func `an accepted attempt resumes the platform and all that waits`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(3)
            _ = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            try await fixture.refuse(try await fixture.claimOne(), "revoked")
            fixture.clock.advance(by: .seconds(30))
            let probe = try await fixture.claimOne()
            let platform = try #require(try await fixture.ports.platform(fixture.platform.key))
            try await fixture.ports.note(.accepted, of: nil, on: platform)
            #expect(try await fixture.parking() == nil)
            #expect(try await fixture.claim(9).count == 2)
            #expect(try await fixture.ports.settle(Settlement(probe, all: .accepted)))
        }
    }

    @Test(arguments: Engine.withModel)
    func `an attempt that dies or sends nothing is repeated`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            _ = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            try await fixture.refuse(try await fixture.claimOne(), "revoked")
            fixture.clock.advance(by: .seconds(30))
            let probe = try await fixture.claimOne()
            fixture.clock.advance(by: .seconds(60))
            let again = try await fixture.claimOne()
            #expect(try await fixture.claim(9).isEmpty)
            let platform = try #require(try await fixture.ports.platform(fixture.platform.key))
            try await fixture.ports.note(.unused, of: nil, on: platform)
            #expect(try await fixture.claim(9).count == 1)
            _ = (probe, again)
        }
    }

    @Test(arguments: Engine.withModel)
    func `an attempt with old credentials changes nothing`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(1)
            _ = try await fixture.push()
            try await fixture.fanOut()
            let batch = try await fixture.claimOne()
            let old = fixture.platform
            try await fixture.ports.replaceCredentials(of: old.key, with: Sealed(bytes: [2]))
            let request = Settlement.ParkRequest(Parking(refused: "revoked", at: fixture.clock.now), of: old)
            #expect(
                try await fixture.ports.settle(
                    Settlement(handingBack: batch, at: fixture.clock.now, parkRequest: request)))
            #expect(try await fixture.parking() == nil)
            try await fixture.ports.park(old.key, Parking(refused: "revoked", at: fixture.clock.now))
            try await fixture.ports.note(.accepted, of: nil, on: old)
            #expect(try await fixture.parking() != nil)
            try await fixture.ports.note(.refused("no"), of: "https://push.example", on: old)
            #expect(try await fixture.ports.platform(old.key)?.parkedServices == [])
        }
    }

    @Test(arguments: Engine.withModel)
    func `a push service is parked alone, probed, and resumed`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, key) = (fixture.ports, fixture.platform.key)
            let (apple, mozilla) = ("https://web.push.apple.com", "https://push.mozilla.example")
            try await store.note(.refused("BadJwtToken"), of: apple, on: fixture.platform)
            var platform = try #require(try await store.platform(key))
            #expect(platform.parked == nil)
            #expect(
                platform.parkedServices == [
                    ParkedService(origin: apple, parking: Parking(refused: "BadJwtToken", at: fixture.clock.now))
                ])
            let end = fixture.clock.now + .seconds(90)
            #expect(try await !store.takeProbe(of: apple, on: key, until: end))
            #expect(try await !store.takeProbe(of: mozilla, on: key, until: end))
            fixture.clock.advance(by: .seconds(30))
            #expect(try await store.takeProbe(of: apple, on: key, until: end))
            #expect(try await !store.takeProbe(of: apple, on: key, until: end))
            try await store.note(.refused("no"), of: apple, on: platform)
            try await store.note(.refused("no"), of: apple, on: platform)
            platform = try #require(try await store.platform(key))
            #expect(
                platform.parkedServices[apple]?.probe
                    == Parking.Probe(at: fixture.clock.now + .seconds(60), count: 1))
            try await store.note(.refused("no"), of: mozilla, on: platform)
            try await store.note(.accepted, of: apple, on: platform)
            #expect(try await store.platform(key)?.parkedServices.map(\.origin) == [mozilla])
            try await store.resume(key)
            #expect(try await store.platform(key)?.parkedServices == [])
        }
    }

    @Test(arguments: Engine.withModel, [true, false])
    func `devices waiting for a push service are due once mended`(engine: Engine, isAccepted: Bool) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (store, apple) = (fixture.ports, "https://web.push.apple.com")
            _ = try await fixture.registerMany(1)
            _ = try await fixture.push()
            try await fixture.fanOut()
            try await store.note(.refused("BadJwtToken"), of: apple, on: fixture.platform)
            let platform = try #require(try await store.platform(fixture.platform.key))
            let waiting = Settlement(handingBack: try await fixture.claimOne(), at: fixture.clock.now + .seconds(900))
            #expect(try await store.settle(waiting))
            #expect(try await fixture.claim(9).isEmpty)
            if isAccepted {
                try await store.note(.accepted, of: apple, on: platform)
            } else {
                try await store.replaceCredentials(of: platform.key, with: Sealed(bytes: [2]))
            }
            #expect(try await store.platform(platform.key)?.parkedServices == [])
            #expect(try await fixture.claim(9).count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `provider answers to a push are reported once`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            let push = try await fixture.push()
            try await fixture.fanOut(batchesOf: 1)
            for batch in try await fixture.claim(9) {
                let load = try #require(try await fixture.ports.load(batch))
                #expect(
                    try await fixture.ports.settle(
                        Settlement(
                            of: batch, sending: load, outcomes: [Outcome.refused(.other).saying("403", "Not today.")],
                            policy: RetryPolicy(), now: fixture.clock.now, jitter: 0)))
            }
            #expect(try await fixture.store.providerWords(of: push.key) == ["refused: other, \"403: Not today.\""])
        }
    }
}

extension TestStore {
    fileprivate func parking() async throws -> Parking? { try await ports.platform(platform.key)?.parked }

    /// Settles as a delivery worker does that is refused.
    fileprivate func refuse(_ batch: Batch, _ words: String) async throws {
        let load = try #require(try await ports.load(batch))
        let request = Settlement.ParkRequest(Parking(refused: words, at: clock.now), of: load.platform)
        #expect(try await ports.settle(Settlement(handingBack: batch, at: clock.now, parkRequest: request)))
    }
}
