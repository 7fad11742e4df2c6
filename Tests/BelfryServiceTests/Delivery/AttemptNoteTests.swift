import BelfryService
import BelfryTesting
import Testing

@Suite struct AttemptNoteTests {
    private static let now = Instant(milliseconds: 1_700_000_000_000)

    private func noted(_ outcomes: [Outcome?], attempt: Int64 = 1) -> AttemptNote? {
        var draft = AttemptNote.Draft(of: .sample(outcomes.map { _ in .pending }, attempt: attempt), at: Self.now)
        for (place, outcome) in outcomes.enumerated() { if let outcome { draft.add(outcome, at: place) } }
        return draft.finish()
    }

    @Test func `immediately accepted or dead devices leave no attempt note`() {
        #expect(noted([.accepted, .gone(since: Self.now), .moved(to: DeviceToken(bytes: [1]))]) == nil)
        #expect(noted([nil, nil]) == nil)
    }

    @Test func `a disputed verdict is noted with time and reason`() throws {
        let old = Instant(milliseconds: 1_600_000_000_000)
        let note = try #require(
            noted([.gone(since: nil).saying("410 Gone"), .gone(since: old).saying("410 Unregistered"), .accepted]))
        #expect(note.answer(at: 0) == #"gone: the token is dead, since when is not said, "410 Gone""#)
        #expect(note.answer(at: 1) == #"gone: the token is dead since 2020-09-13T12:26:40.000Z, "410 Unregistered""#)
        #expect(note.answer(at: 2) == nil)
    }

    @Test func `a note keeps the provider's words for each device`() throws {
        let outcomes: [Outcome?] = [
            .refused(.other).saying("400 Strange"), .accepted, nil, .throttled(retryAfter: nil).saying("429 TooMany"),
            .throttled(retryAfter: nil).saying("429 TooMany"), .unanswered,
            .unreachable(ConnectionFault(.connect, "Connection refused")),
        ]
        let written = try #require(noted(outcomes)).line
        let read = try #require(AttemptNote.history(written).first)
        #expect(read.attempt == 1 && read.at == Self.now)
        #expect(
            (0..<7).map(read.answer(at:)) == [
                #"refused: other, "400 Strange""#, nil, nil, #"the provider asked to wait, "429 TooMany""#,
                #"the provider asked to wait, "429 TooMany""#, "sent, and no answer came in time",
                "unreachable (connect): Connection refused",
            ])
    }

    @Test func `a later attempt is noted even where it is accepted`() throws {
        let note = try #require(noted([.accepted, .gone(since: nil)], attempt: 2))
        #expect(
            note.answer(at: 0) == "accepted" && note.answer(at: 1) == "gone: the token is dead, since when is not said")
    }

    @Test func `only answers that providers have a part in are theirs`() throws {
        let outcomes: [Outcome?] = [
            .accepted, .moved(to: DeviceToken(bytes: [1])), .waiting(until: Self.now), .skipped(.quietHours),
            .skipped(.capped), .refused(.other).saying("400 Strange"), .held(.seconds(9), "parked"),
        ]
        let note = try #require(noted(outcomes, attempt: 2))
        #expect(note.words.count == outcomes.count)
        #expect(AttemptNote.words(of: [note.line]) == [#"refused: other, "400 Strange""#, "not sent: parked"])
    }

    @Test func `a provider's text cannot break a line`() throws {
        let line = try #require(noted([.refused(.other).saying("a\tb\nc\u{7F}é")])).line
        #expect(line.split(separator: "\n").count == 1 && line.split(separator: "\t").count == 4)
        #expect(AttemptNote.history(line).first?.answer(at: 0) == #"refused: other, "a?b?c???""#)
    }

    @Test func `a full batch's note stays short despite many answers`() throws {
        let outcomes = (0..<Batch.devicesMax).map { place -> Outcome? in
            .refused(.other).saying(String(repeating: "x", count: 200) + "\(place)")
        }
        let alternating = (0..<Batch.devicesMax).map { place -> Outcome? in
            place % 2 == 0 ? .unanswered : .failed(retryAfter: nil).saying("\(place)")
        }
        for outcomes in [outcomes, alternating] {
            #expect(try #require(noted(outcomes)).line.utf8.count < AttemptNote.historyBytesMax)
        }
    }

    @Test func `a truncated history is read from its next line`() throws {
        let lines = try (1...3).map { try #require(noted([.unanswered], attempt: $0)).line }.joined()
        #expect(AttemptNote.history(lines).map(\.attempt) == [1, 2, 3])
        #expect(AttemptNote.history(String(lines.dropFirst(4))).map(\.attempt) == [2, 3])
        for garbage in ["", "\n", "x\ty\tz", "1\t2", "1\t2\t999999999999z\tw\n"] {
            #expect(AttemptNote.history(garbage).allSatisfy { $0.answer(at: 0) == nil }, "\(garbage)")
        }
    }
}
