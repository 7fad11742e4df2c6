import Testing

@testable import HTTP2Client

@Suite struct HTTP2AnswersTests {
    /// A hostile server sends bodies byte by byte, on many streams in turn.
    @Test func `interleaved single-byte bodies are complete, memory follows length`() {
        let (count, length) = (50, 4_096)
        var answers = HTTP2Answers(count: count)
        for index in 0..<count { answers.begin(index, status: 200) }
        for byte in 0..<length {
            for index in 0..<count {
                [UInt8(truncatingIfNeeded: byte &* 7 &+ index)].withUnsafeBufferPointer {
                    answers.keepBody(index, piece: $0, limit: length)
                }
            }
        }
        for index in 0..<count {
            let expected = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }
            #expect(answers.bytes[answers.records[index].body].elementsEqual(expected))
        }
        #expect(answers.bytes.count <= 4 * count * length)
    }

    @Test func `a body is kept up to its limit, wherever stored`() {
        var answers = HTTP2Answers(count: 2)
        for index in 0..<2 { answers.begin(index, status: 200) }
        for piece in [[1, 2], [3], [4, 5, 6]] as [[UInt8]] {
            for index in 0..<2 { piece.withUnsafeBufferPointer { answers.keepBody(index, piece: $0, limit: 5) } }
        }
        for index in 0..<2 {
            #expect(answers.bytes[answers.records[index].body].elementsEqual([1, 2, 3, 4, 5]))
            #expect(answers.records[index].isTruncated)
        }
    }

    @Test func `an attempt without connection takes no headers away`() throws {
        var answers = HTTP2Answers(count: 2)
        answers.names = [Array("retry-after".utf8)]
        answers.begin(0, status: 503)
        [UInt8(ascii: "7")].withUnsafeBufferPointer { answers.keep(0, place: 0, value: $0) }
        answers.records[0].kind = .response
        answers.replace(at: [1], with: HTTP2Answers(count: 1, unprocessed: HTTP2Fault(.circuitOpen)))
        guard case .response(let response) = answers[0] else {
            Issue.record("the first answer is lost")
            return
        }
        try #require(response["retry-after"] == "7")
        #expect(response.keptHeaders.map { $0.1 } == ["7"])
    }
}

@Suite struct SilenceClockTests {
    @Test func `silence is counted from the last answer`() {
        var clock = SilenceClock(most: 10, now: 100)
        let heard = [(0, 109), (1, 110), (1, 119), (1, 120)].map { clock.isTooLong(answers: $0, at: UInt64($1)) }
        #expect(heard == [false, false, false, true])
    }

    @Test func `a clock without a bound never rings`() {
        var clock = SilenceClock()
        let rings = clock.isTooLong(answers: 0, at: .max - 1)
        #expect(!rings)
    }
}
