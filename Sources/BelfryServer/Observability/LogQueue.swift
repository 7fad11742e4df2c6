import BelfryService
import Dispatch
import Foundation
import Metrics
import Synchronization
import SystemPackage

/// Writes the lines of the log on a thread of its own, so that no one who logs waits for a reader: standard error may be a pipe that is
/// full.
///
/// It is bounded: lines that find no room are dropped and counted, and a line says so once there is room again.
package final class LogQueue: Sendable {
    package static let standardError = LogQueue { _ = try? FileDescriptor.standardError.writeAll($0) }

    package static let linesMax = 8_192
    package static let bytesMax = 4 << 20
    /// Written at once, as far as there is so much.
    private static let writeBytes = 64 << 10

    private enum Entry {
        case line(String)
        /// Is signalled once what stands before it is written.
        case mark(DispatchSemaphore)
    }

    private struct State {
        var entries: [Entry] = []
        var bytes = 0
        /// Lines dropped since the last report.
        var dropped = 0
        var hasThread = false
    }

    private let state = Mutex(State())
    private let wakeUp = DispatchSemaphore(value: 0)
    private let output: @Sendable ([UInt8]) -> Void

    /// - Parameter output: may take as long as it likes.
    package init(output: @escaping @Sendable ([UInt8]) -> Void) { self.output = output }

    /// Writes a line. Returns how many lines were dropped before it, where that is to be reported.
    ///
    /// - Parameter line: with its end.
    package func write(_ line: String) -> Int {
        let told = state.withLock { state -> Int? in
            guard state.entries.count < Self.linesMax, state.bytes + line.utf8.count <= Self.bytesMax else {
                state.dropped += 1
                return nil
            }
            state.entries.append(.line(line))
            state.bytes += line.utf8.count
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let told else {
            Metric.logLinesDropped.increment()
            return 0
        }
        beginIfNeeded()
        wakeUp.signal()
        return told
    }

    /// Writes folded events, and waits until all lines are written, before the process ends.
    package static func drainStandardError() {
        LogFolds.shared.tell()
        standardError.drain()
    }

    /// Waits until all that stands here is written, as long as that takes no longer.
    package func drain(within limit: Duration = .seconds(1)) {
        let isWritten = DispatchSemaphore(value: 0)
        let isEmpty = state.withLock { state in
            if state.hasThread { state.entries.append(.mark(isWritten)) }
            return !state.hasThread
        }
        if isEmpty { return }
        wakeUp.signal()
        _ = isWritten.wait(timeout: .now() + .milliseconds(Int(limit.milliseconds)))
    }

    private func beginIfNeeded() {
        let isFirst = state.withLock { state in
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard isFirst else { return }
        let thread = Thread { [self] in
            while true {
                wakeUp.wait()
                writeAll()
            }
        }
        thread.name = "log"
        thread.start()
    }

    private func writeAll() {
        let entries = state.withLock { state in
            defer { (state.entries, state.bytes) = ([], 0) }
            return state.entries
        }
        var bytes: [UInt8] = []
        func flush() {
            if !bytes.isEmpty { output(bytes) }
            bytes.removeAll(keepingCapacity: true)
        }
        for entry in entries {
            switch entry {
            case .line(let line): bytes += line.utf8
            case .mark(let isWritten):
                flush()
                isWritten.signal()
            }
            if bytes.count >= Self.writeBytes { flush() }
        }
        flush()
    }
}
