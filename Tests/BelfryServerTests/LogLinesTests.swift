import BelfryCore
import Foundation
import Logging
import Synchronization
import Testing

@testable import BelfryServer

/// What callers write cannot make lines of its own in the log.
@Suite struct LogLinesTests {
    private final class Output: Sendable {
        private let text = Mutex("")

        var written: String { text.withLock { $0 } }
        func write(_ more: String) { text.withLock { $0 += more } }
    }

    @Test func `the last lines are kept, however many there are, and long ones are cut`() {
        let ring = LogRing()
        var logger = Logger(label: "belfry") { _ in
            KeepingLogHandler(StreamLogHandler(label: "test", stream: LogLines { _ in }), in: ring)
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

    @Test func `other texts are as they were written`() {
        #expect(LogLines.escaped(#"Grüße \n "x" 日本 🎉"#) == #"Grüße \n "x" 日本 🎉"#)
    }
}
