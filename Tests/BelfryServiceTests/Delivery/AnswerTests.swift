import BelfryService
import Testing

@Suite struct AnswerTests {
    private static let all: [Answer] =
        [.pending, .accepted, .gone, .expired, .unknown] + Skip.allCases.map(Answer.skipped)
        + Refusal.allCases.map(Answer.refused)

    @Test func `each answer is one byte, and comes back from it`() {
        for answer in Self.all { #expect(Answer(code: answer.code) == answer) }
        #expect(Set(Self.all.map(\.code)).count == Self.all.count)
    }

    @Test func `a byte that stands for nothing is no answer`() {
        let codes = Set(Self.all.map(\.code))
        for code in UInt8.min...UInt8.max where !codes.contains(code) { #expect(Answer(code: code) == nil) }
    }

    /// Batches written by an older version are read by a newer one.
    @Test func `codes never change`() {
        #expect(Self.all.map(\.code) == [0, 1, 2, 3, 4, 16, 17, 18, 19, 20, 21] + Array(64...77) + [90, 91, 127])
    }
}
