import BelfryService
import Dispatch
import Foundation
import Logging
import Synchronization
import Testing

@testable import BelfryServer

/// Text of callers in the log, which cannot make lines of its own.
@Suite struct LogLinesTests {
    private final class Output: Sendable {
        private let text = Mutex("")

        var written: String { text.withLock { $0 } }
        func write(_ more: String) { text.withLock { $0 += more } }
    }

    @Test func `the last lines are kept and long ones cut`() {
        let ring = LogRing()
        var logger = Logger(label: "belfry") { _ in
            KeepingLogHandler(base: StreamLogHandler(label: "test", stream: LogLines { _ in }), ring: ring)
        }
        logger.logLevel = .info
        logger[metadataKey: "node"] = "n1"
        logger.debug("not written")
        for number in 1...LogRing.linesMax + 3 { logger.info("line \(number)", metadata: ["number": "\(number)"]) }
        logger.error("\(String(repeating: "x", count: 5_000))")
        let lines = ring.lines
        #expect(lines.count == LogRing.linesMax)
        #expect(lines.first?.message == "line 5" && lines.map(\.number) == (5...Int64(LogRing.linesMax + 4)).map { $0 })
        #expect(lines.first?.details["number"] == "5")
        #expect(lines.last?.level == .error && (lines.last?.message.count ?? 0) < 600)
    }

    @Test func `an entry is one line, whatever its texts hold`() {
        let output = Output()
        var logger = Logger(label: "belfry") { label in
            StreamLogHandler(label: label, stream: LogLines { output.write($0) })
        }
        logger[metadataKey: "trace.id"] = "a\nb"
        let reason =
            "field 'x\n2026-01-01T00:00:00Z error belfry: [BelfryServer] all is lost\r\u{1B}[2J\u{2028}\u{9B}0m' is wrong"
        logger.info("schedule refused\n", metadata: ["reason": "\(reason)"])
        #expect(output.written.filter { $0.isNewline }.count == 1 && output.written.hasSuffix("\n"))
        #expect(
            output.written.contains(#"field 'x\n2026-01-01"#) && output.written.contains(#"\r\u001b[2J\u2028\u009b0m"#))
        #expect(!output.written.unicodeScalars.dropLast().contains { $0.properties.generalCategory == .control })
    }

    @Test func `logging never waits for readers, who hear of losses`() {
        let (gate, taken) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let output = Output()
        let queue = LogQueue { bytes in
            taken.signal()
            gate.wait()
            output.write(String(decoding: bytes, as: UTF8.self))
        }
        // What the thread has taken is no longer in the queue.
        _ = queue.write("line 0\n")
        taken.wait()
        let told = (1..<3 * LogQueue.linesMax).map { queue.write("line \($0)\n") }
        #expect(told.allSatisfy { $0 == 0 })
        queue.drain(within: .zero)
        for _ in 0..<1_000 { gate.signal() }
        queue.drain(within: .seconds(60))
        let dropped = queue.write("after\n")
        queue.drain(within: .seconds(60))
        let lines = output.written.split(separator: "\n")
        #expect(dropped >= LogQueue.linesMax && lines.count == 3 * LogQueue.linesMax - dropped + 1)
        #expect(lines.first == "line 0" && lines.last == "after")
    }

    @Test func `a repeated error is one counted line`() {
        let output = Output()
        let folds = LogFolds()
        let event = { (words: String) in
            LogEvent(
                level: .error, message: "\(words)", metadata: nil, source: nil, file: "", function: "", line: 1)
        }
        let start = ContinuousClock.now
        for second in 0..<10 {
            for event in folds.admit(event("the database is away"), ["error": "x"], at: start + .seconds(second)) {
                output.write("\(event.message) \(event.metadata?["repeated"] ?? "")\n")
            }
        }
        for (words, details, second) in [
            ("another", "x", 1), ("the database is away", "y", 2), ("the database is away", "x", 10), ("later", "", 30),
        ] {
            for event in folds.admit(event(words), ["error": "\(details)"], at: start + .seconds(second)) {
                output.write("\(event.message) \(event.metadata?["repeated"] ?? "")\n")
            }
        }
        #expect(
            output.written == "the database is away \nanother \nthe database is away \nthe database is away 9\nlater \n"
        )
    }

    @Test func `folded lines are reported once at the end`() {
        let output = Output()
        let folds = LogFolds()
        let base = StreamLogHandler(label: "belfry", stream: LogLines { output.write($0) })
        var logger = Logger(label: "belfry") { _ in FoldingLogHandler(base: base, folds: folds) }
        logger.logLevel = .info
        for _ in 0..<5 { logger.error("the disk is full") }
        #expect(output.written.split(separator: "\n").count == 1)
        for _ in 0..<2 { folds.tell() }
        let lines = output.written.split(separator: "\n")
        #expect(lines.count == 2 && lines[1].contains("repeated=4"))
    }

    @Test func `other texts are as they were written`() {
        #expect(#"Grüße \n "x" 日本 🎉"#.withoutControls() == #"Grüße \n "x" 日本 🎉"#)
    }
}
