import Testing

@testable import BelfrySimulators

@Suite struct LedgerTests {
    private func token(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) + Array(repeating: 7, count: 24) }
    }

    private func tell(_ ledger: Ledger, _ token: [UInt8], id: UInt64? = nil, at time: Int64 = 0) {
        token.withUnsafeBytes { ledger.recordTold($0, hash: StableHash.hash($0), id: id, at: time) }
    }

    private func answer(_ ledger: Ledger, _ token: [UInt8], _ verdict: APNsVerdict? = nil, at time: Int64 = 0) {
        token.withUnsafeBytes {
            ledger.recordAnswer($0, hash: StableHash.hash($0), APNsVerdict.entry(verdict), at: time)
        }
    }

    @Test func `notified devices and given answers are counted apart`() throws {
        let ledger = Ledger(detail: .tokens)
        tell(ledger, token(1), at: 5)
        tell(ledger, token(1), at: 9)
        answer(ledger, token(1), at: 9)
        answer(ledger, token(2), APNsVerdict(.unregistered), at: 11)
        let first = try #require(ledger.token(token(1)))
        #expect((first.told, first.answered, first.refused, first.lastStatus) == (2, 1, 0, 200))
        #expect((first.firstAt, first.lastAt) == (5, 9))
        let second = try #require(ledger.token(token(2)))
        #expect((second.told, second.answered, second.refused, second.lastStatus) == (0, 1, 1, 410))
        let totals = ledger.totals()
        #expect((totals.told, totals.accepted, totals.refused, totals.tokens) == (2, 1, 1, 2))
        #expect(totals.byReason == ["Unregistered": 1])
        #expect(totals.byStatus == ["200": 1, "410": 1])
        #expect(ledger.duplicates().map(\.token) == [Hex.encode(token(1))])
    }

    @Test func `pages hold every token once`() throws {
        let ledger = Ledger(detail: .tokens)
        for number in 0..<5000 { tell(ledger, token(number)) }
        var seen: [String] = []
        while true {
            let page = ledger.tokens(after: seen.last.flatMap(Hex.decode), limit: 333)
            seen += page.map(\.token)
            if page.count < 333 { break }
        }
        #expect(seen.count == 5000)
        #expect(Set(seen).count == 5000)
        #expect(ledger.token(token(4321))?.told == 1)
        #expect(ledger.token(token(5000)) == nil)
    }

    @Test func `an id repeated for its token is a duplicate`() {
        let ledger = Ledger(detail: .tokens)
        for number in 0..<1000 {
            tell(ledger, token(number), id: 42)
            tell(ledger, token(number), id: 43)
        }
        #expect(ledger.totals().duplicateIDs == 0)
        tell(ledger, token(500), id: 42)
        #expect(ledger.totals().duplicateIDs == 1)
        #expect(ledger.token(token(500))?.duplicateIDs == 1)
    }

    @Test func `a withdrawn entry was never notified`() {
        let ledger = Ledger(detail: .tokens)
        let token = token(1)
        tell(ledger, token, id: 42)
        token.withUnsafeBytes { ledger.takeBack($0, hash: StableHash.hash($0), id: 42) }
        tell(ledger, token, id: 42)
        #expect(ledger.totals().told == 1)
        #expect(ledger.totals().duplicateIDs == 0)
        #expect(ledger.duplicates().isEmpty)
    }

    @Test func `totals alone remember no token`() {
        let ledger = Ledger(detail: .totals)
        tell(ledger, token(1))
        answer(ledger, token(1))
        #expect(ledger.totals().told == 1)
        #expect(ledger.tokens().isEmpty)
    }

    @Test func `a reset forgets`() {
        let ledger = Ledger(detail: .tokens)
        tell(ledger, token(1), id: 42)
        ledger.reset()
        tell(ledger, token(1), id: 42)
        #expect(ledger.totals().told == 1)
        #expect(ledger.totals().duplicateIDs == 0)
    }

    @Test func `delayed answers leave by due time, then in order`() {
        var line = DelayLine<Int>()
        for (element, due) in [(1, 30), (2, 10), (3, 20), (4, 10)] { line.insert(element, due: Int64(due)) }
        #expect(line.popDue(at: 9) == nil)
        var left: [Int] = []
        while let element = line.popDue(at: 30) { left.append(element) }
        #expect(left == [2, 4, 3, 1])
    }
}
