import BelfryTesting
import Foundation
import Testing

@testable import BelfryService

@Suite struct IdempotencyConformance {
    private static let answer = StoredResponse(status: 201, content: Sealed(bytes: [1, 2, 3]))

    private static func reservation(
        _ name: UInt8 = 1, request: UInt8 = 1, hold: Duration = .seconds(30)
    ) -> Reservation {
        Reservation(
            name: Array(repeating: name, count: 32), caller: Principal(.sender, 1),
            request: Array(repeating: request, count: 32), idempotentID: UUID(), hold: hold)
    }

    @Test(arguments: Engine.allCases)
    func `a name is held, answered, then released from others`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = Self.reservation()
            #expect(try await fixture.store.reserve(first) == .first(idempotentID: first.idempotentID))
            fixture.clock.advance(by: .seconds(10))
            #expect(try await fixture.store.reserve(Self.reservation()) == .busy(for: .seconds(20)))
            #expect(try await fixture.store.reserve(Self.reservation(request: 2)) == .taken)
            let second = Self.reservation(2)
            #expect(try await fixture.store.reserve(second) == .first(idempotentID: second.idempotentID))
            for name in [first.name, [9]] { #expect(try await fixture.store.answer(to: name) == nil) }
            try await fixture.store.complete(first.name, idempotentID: first.idempotentID, with: Self.answer)
            #expect(try await fixture.store.reserve(Self.reservation()) == .answered(Self.answer))
            #expect(try await fixture.store.reserve(Self.reservation(request: 2)) == .taken)
            #expect(try await fixture.store.answer(to: first.name) == Self.answer)
            fixture.clock.advance(by: IdempotencyRecord.lifetime)
            #expect(try await fixture.store.answer(to: first.name) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `an ended hold is taken over under its old id`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = Self.reservation()
            _ = try await fixture.store.reserve(first)
            fixture.clock.advance(by: .seconds(30))
            #expect(try await fixture.store.reserve(Self.reservation()) == .again(idempotentID: first.idempotentID))
            #expect(try await fixture.store.reserve(Self.reservation()) == .busy(for: .seconds(30)))
            try await fixture.store.release(first.name, idempotentID: first.idempotentID, hadNoEffect: false)
            #expect(try await fixture.store.reserve(Self.reservation()) == .again(idempotentID: first.idempotentID))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a request without an effect leaves no trace`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = Self.reservation()
            _ = try await fixture.store.reserve(first)
            try await fixture.store.release(first.name, idempotentID: first.idempotentID, hadNoEffect: true)
            let other = Self.reservation(request: 2)
            #expect(try await fixture.store.reserve(other) == .first(idempotentID: other.idempotentID))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an answer is final and only its holder gives it`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let first = Self.reservation()
            _ = try await fixture.store.reserve(first)
            let wrong = StoredResponse(status: 200, content: Sealed(bytes: [9]))
            try await fixture.store.complete(first.name, idempotentID: UUID(), with: wrong)
            try await fixture.store.release(first.name, idempotentID: UUID(), hadNoEffect: true)
            #expect(try await fixture.store.reserve(Self.reservation()) == .busy(for: .seconds(30)))
            try await fixture.store.complete(first.name, idempotentID: first.idempotentID, with: Self.answer)
            try await fixture.store.complete(first.name, idempotentID: first.idempotentID, with: wrong)
            try await fixture.store.release(first.name, idempotentID: first.idempotentID, hadNoEffect: true)
            try await fixture.store.release(first.name, idempotentID: first.idempotentID, hadNoEffect: false)
            #expect(try await fixture.store.reserve(Self.reservation()) == .answered(Self.answer))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a name is free after a day, whatever happened`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let (answered, cut) = (Self.reservation(1), Self.reservation(2))
            _ = try await fixture.store.reserve(answered)
            _ = try await fixture.store.reserve(cut)
            try await fixture.store.complete(answered.name, idempotentID: answered.idempotentID, with: Self.answer)
            fixture.clock.advance(by: IdempotencyRecord.lifetime + .milliseconds(-1))
            #expect(try await fixture.store.reserve(Self.reservation(1)) == .answered(Self.answer))
            fixture.clock.advance(by: .milliseconds(1))
            for name in [1, 2] as [UInt8] {
                let new = Self.reservation(name, request: 7)
                #expect(try await fixture.store.reserve(new) == .first(idempotentID: new.idempotentID))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a caller's oldest records go`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            let bytes = [UInt8](repeating: 8, count: 32)
            let other = Reservation(
                name: bytes, caller: Principal(.sender, 2), request: bytes, idempotentID: UUID(), hold: .seconds(30))
            _ = try await fixture.store.reserve(other)
            for number: UInt8 in 1...4 {
                let one = Self.reservation(number)
                _ = try await fixture.store.reserve(one)
                try await fixture.store.complete(one.name, idempotentID: one.idempotentID, with: Self.answer)
                fixture.clock.advance(by: .seconds(1))
            }
            try await fixture.store.deleteOldest(of: Principal(.sender, 1), beyond: 2)
            for number: UInt8 in 1...4 {
                let answer = try await fixture.store.answer(to: Self.reservation(number).name)
                #expect((answer == nil) == (number < 3), "\(number)")
            }
            #expect(try await fixture.store.reserve(other) == .busy(for: .seconds(26)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a receipt id has one push, however often accepted`(engine: Engine) async throws {
        try await TestStore.play(on: engine) { fixture in
            _ = try await fixture.registerMany(2)
            let new = NewPush(
                receiptID: UUID(), applicationKey: fixture.application.key, content: .init(body: "hello"),
                audience: .list(.active), platformKeys: [fixture.platform.key], lane: .normal)
            let first = try await fixture.store.accept(new)
            fixture.clock.advance(by: .seconds(5))
            #expect(try await fixture.store.accept(new) == first)
            try await fixture.fanOut()
            #expect(try await fixture.store.accept(new) == first)
            #expect(try await fixture.counts(of: first) == [.pending: 2])
            #expect(try await fixture.claim(10).count == 1)
        }
    }
}
