import BelfryCore
import BelfryTesting
import Foundation
import Testing

@Suite struct IdempotencyConformance {
    private static let answer = KeptAnswer(status: 201, content: Sealed(bytes: [1, 2, 3]))

    private static func reservation(
        _ name: UInt8 = 1, request: UInt8 = 1, hold: Duration = .seconds(30)
    ) -> Reservation {
        Reservation(
            name: Array(repeating: name, count: 32), caller: Principal(.sender, 1),
            request: Array(repeating: request, count: 32), seed: UUID(), hold: hold)
    }

    @Test(arguments: Engine.allCases)
    func `a name is held, then answered, then another request's no more`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = Self.reservation()
            #expect(try await scene.store.reserve(first) == .first(seed: first.seed))
            scene.clock.advance(by: .seconds(10))
            #expect(try await scene.store.reserve(Self.reservation()) == .busy(for: .seconds(20)))
            #expect(try await scene.store.reserve(Self.reservation(request: 2)) == .taken)
            let second = Self.reservation(2)
            #expect(try await scene.store.reserve(second) == .first(seed: second.seed))
            try await scene.store.complete(first.name, seed: first.seed, with: Self.answer)
            #expect(try await scene.store.reserve(Self.reservation()) == .answered(Self.answer))
            #expect(try await scene.store.reserve(Self.reservation(request: 2)) == .taken)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a hold that ended is taken over under the old seed`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = Self.reservation()
            _ = try await scene.store.reserve(first)
            scene.clock.advance(by: .seconds(30))
            #expect(try await scene.store.reserve(Self.reservation()) == .again(seed: first.seed))
            #expect(try await scene.store.reserve(Self.reservation()) == .busy(for: .seconds(30)))
            try await scene.store.release(first.name, seed: first.seed, hadNoEffect: false)
            #expect(try await scene.store.reserve(Self.reservation()) == .again(seed: first.seed))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a request without an effect leaves no trace`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = Self.reservation()
            _ = try await scene.store.reserve(first)
            try await scene.store.release(first.name, seed: first.seed, hadNoEffect: true)
            let other = Self.reservation(request: 2)
            #expect(try await scene.store.reserve(other) == .first(seed: other.seed))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an answer is final, and only who holds the name may give it`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let first = Self.reservation()
            _ = try await scene.store.reserve(first)
            let wrong = KeptAnswer(status: 200, content: Sealed(bytes: [9]))
            try await scene.store.complete(first.name, seed: UUID(), with: wrong)
            try await scene.store.release(first.name, seed: UUID(), hadNoEffect: true)
            #expect(try await scene.store.reserve(Self.reservation()) == .busy(for: .seconds(30)))
            try await scene.store.complete(first.name, seed: first.seed, with: Self.answer)
            try await scene.store.complete(first.name, seed: first.seed, with: wrong)
            try await scene.store.release(first.name, seed: first.seed, hadNoEffect: true)
            try await scene.store.release(first.name, seed: first.seed, hadNoEffect: false)
            #expect(try await scene.store.reserve(Self.reservation()) == .answered(Self.answer))
        }
    }

    @Test(arguments: Engine.allCases)
    func `after a day a name is free, whatever became of it`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let (answered, cut) = (Self.reservation(1), Self.reservation(2))
            _ = try await scene.store.reserve(answered)
            _ = try await scene.store.reserve(cut)
            try await scene.store.complete(answered.name, seed: answered.seed, with: Self.answer)
            scene.clock.advance(by: IdempotencyRecord.lifetime + .milliseconds(-1))
            #expect(try await scene.store.reserve(Self.reservation(1)) == .answered(Self.answer))
            scene.clock.advance(by: .milliseconds(1))
            for name in [1, 2] as [UInt8] {
                let new = Self.reservation(name, request: 7)
                #expect(try await scene.store.reserve(new) == .first(seed: new.seed))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a receipt id has one push, however often it is accepted`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.registerMany(2)
            let new = NewPush(
                receiptID: UUID(), applicationKey: scene.application.key, content: .init(body: "hello"),
                audience: .list(.active), platformKeys: [scene.platform.key], lane: .normal)
            let first = try await scene.store.accept(new)
            scene.clock.advance(by: .seconds(5))
            #expect(try await scene.store.accept(new) == first)
            try await scene.spread()
            #expect(try await scene.store.accept(new) == first)
            #expect(try await scene.counts(of: first) == [.pending: 2])
            #expect(try await scene.claim(10).count == 1)
        }
    }
}
