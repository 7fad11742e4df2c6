import Testing

@testable import BelfryService

@Suite struct DerivationTurnsTests {
    private static func stranger(_ address: UInt32, _ account: Int = 0) -> DerivationCaller {
        DerivationCaller(address: NetworkAddress(v4: address), account: account, isKnown: false)
    }

    private static func known(_ account: Int) -> DerivationCaller {
        DerivationCaller(address: nil, account: account, isKnown: true)
    }

    /// The order in which the tickets are served, after the first.
    private static func order(_ turns: inout DerivationTurns, from ticket: Int = 1) -> [Int] {
        var (order, now) = ([Int](), ticket)
        while let next = turns.finish(now).first {
            order.append(next)
            now = next
        }
        return order
    }

    @Test func `an idle address goes before busy ones`() {
        var turns = DerivationTurns()
        var last = 0
        for round in 0..<4 {
            for address in 1...16 as ClosedRange<UInt32> {
                guard case .served(let ticket) = turns.arrive(Self.stranger(address, Int(address) * 10 + round)) else {
                    Issue.record("nothing else runs")
                    return
                }
                #expect(turns.finish(ticket).isEmpty)
                last = ticket
            }
        }
        for address in 1...16 as ClosedRange<UInt32> {
            for copy in 0..<2 { _ = turns.arrive(Self.stranger(address, Int(address) * 1_000 + copy)) }
        }
        let newcomer = turns.arrive(Self.stranger(99, 7))
        guard case .waits(let ticket, _) = newcomer else {
            Issue.record("\(newcomer)")
            return
        }
        #expect(Self.order(&turns, from: last + 1).first == ticket)
    }

    @Test func `an address and an account have so many places`() {
        var turns = DerivationTurns()
        let limits = DerivationTurns.Limits()
        _ = turns.arrive(Self.stranger(1, 1))
        for number in 0..<limits.address { #expect(turns.arrive(Self.stranger(2, number)) != .overShare) }
        #expect(turns.arrive(Self.stranger(2, 100)) == .overShare)
        #expect(turns.arrive(Self.stranger(3, 100)) != .overShare)
        for address in 10..<(10 + UInt32(limits.account)) {
            #expect(turns.arrive(Self.stranger(address, 500)) != .overShare)
        }
        #expect(turns.arrive(Self.stranger(50, 500)) == .overShare)
        #expect(turns.arrive(Self.stranger(50, 501)) != .overShare)
    }

    @Test func `all addresses of a network of version 6 are one`() {
        var turns = DerivationTurns()
        _ = turns.arrive(Self.stranger(1, 1))
        let arrivals = (1...3 as ClosedRange<UInt64>).map { low in
            turns.arrive(
                DerivationCaller(
                    address: NetworkAddress(high: 0x2001_0DB8_0000_0001, low: low), account: Int(low), isKnown: false))
        }
        #expect(arrivals.last == .overShare && arrivals.dropLast().allSatisfy { $0 != .overShare })
    }

    @Test func `known callers have places however many strangers wait`() {
        var turns = DerivationTurns()
        let limits = DerivationTurns.Limits()
        _ = turns.arrive(Self.stranger(1, 1))
        for address in 100..<(100 + UInt32(limits.strangers)) {
            #expect(turns.arrive(Self.stranger(address, Int(address))) != .turnedAway)
        }
        #expect(turns.arrive(Self.stranger(99, 99)) == .turnedAway)
        guard case .waits(let ticket, nil) = turns.arrive(Self.known(7)) else {
            Issue.record("no place for somebody known")
            return
        }
        #expect(Self.order(&turns).first == ticket)
    }

    @Test func `three known callers in a row let a stranger pass`() {
        var turns = DerivationTurns()
        _ = turns.arrive(Self.known(0))
        guard case .waits(let stranger, _) = turns.arrive(Self.stranger(1)) else {
            Issue.record("no place")
            return
        }
        for account in 1...6 { _ = turns.arrive(Self.known(account)) }
        #expect(Self.order(&turns).firstIndex(of: stranger) == 2)
    }

    @Test func `in a full queue a newcomer displaces whoever derived most`() {
        var turns = DerivationTurns()
        let limits = DerivationTurns.Limits()
        guard case .served(let first) = turns.arrive(Self.stranger(5, 5)) else { return }
        _ = turns.finish(first)
        _ = turns.arrive(Self.stranger(1, 1))
        guard case .waits(let greedy, _) = turns.arrive(Self.stranger(5, 6)) else { return }
        for address in 100..<(99 + UInt32(limits.strangers)) { _ = turns.arrive(Self.stranger(address, Int(address))) }
        let newcomer = turns.arrive(Self.stranger(99, 99))
        guard case .waits(let ticket, let displaced) = newcomer else {
            Issue.record("\(newcomer)")
            return
        }
        #expect(displaced == greedy && turns.waitingCount == limits.strangers)
        #expect(turns.leave(ticket) && !turns.leave(ticket))
        #expect(turns.waitingCount == limits.strangers - 1)
    }
}

@Suite(.timeLimit(.minutes(20))) struct SingleFlightTests {
    @Test func `simultaneous callers share the first one's work`() async throws {
        let flight = SingleFlight<String, Int>()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let works = AsyncStream.makeStream(of: Void.self)
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await flight.value(for: "a") {
                        works.continuation.yield()
                        for await _ in gate {}
                        return 7
                    }
                }
            }
            group.addTask { try await flight.value(for: "b") { 8 } }
            open.finish()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        works.continuation.finish()
        #expect(values.filter { $0 == 7 }.count == 50 && values.contains(8))
    }

    @Test func `when the first leaves, another does the work`() async throws {
        let flight = SingleFlight<String, Int>()
        let begun = AsyncStream.makeStream(of: Void.self)
        let never = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await flight.value(for: "a") {
                begun.continuation.finish()
                for await _ in never.stream {}
                try Task.checkCancellation()
                return 1
            }
        }
        for await _ in begun.stream {}
        async let second = flight.value(for: "a") { 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await second == 2)
    }

    @Test func `a failure is not kept`() async throws {
        let flight = SingleFlight<String, Int>()
        await #expect(throws: StoreError.self) {
            try await flight.value(for: "a") { throw StoreError.unavailable("no") }
        }
        #expect(try await flight.value(for: "a") { 3 } == 3)
    }
}
