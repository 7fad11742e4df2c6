import BelfryService
import Testing

@Suite struct AnswerTallyTests {
    private static func tally(_ batches: [UInt8]...) -> AnswerTally {
        var tally = AnswerTally()
        for batch in batches { batch.withUnsafeBytes { tally.add($0) } }
        return tally
    }

    @Test func `devices are counted by answer, and waiting is pending`() throws {
        let tally = Self.tally([1, 0, 2], [1, 200])
        #expect(tally.devices == 5)
        #expect(try tally.counts() == [.accepted: 2, .gone: 1, .pending: 2])
        #expect(tally.final == [.accepted: 2, .gone: 1])
    }

    @Test func `a byte without meaning is no final answer`() {
        let tally = Self.tally([1, 100])
        #expect(tally.devices == 2)
        #expect(throws: StoreError.unavailable("answer 100 has no meaning")) { try tally.counts() }
        #expect(tally.final == [.accepted: 1])
    }
}
