import HTTPTypes
import Hummingbird
import Logging

/// The trace context of a caller. Source: W3C Trace Context, §3.2 "Traceparent Header".
struct TraceParent: Equatable {
    let trace: Substring
    /// The caller's own span.
    let span: Substring

    /// `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; later versions may append to it. nil for everything else,
    /// which is treated as missing.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4,
            zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.count == $1 && $0.allSatisfy(\.isLowerHex) }),
            parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        trace = parts[1]
        span = parts[2]
    }

    init?(of request: Request) {
        guard let text = request.headers[.traceparent] else { return nil }
        self.init(text)
    }
}

extension Logger {
    /// Adds the trace id to all following lines of the log.
    mutating func name(_ parent: TraceParent) {
        self[metadataKey: "trace.id"] = "\(parent.trace)"
        self[metadataKey: "trace.parent.id"] = "\(parent.span)"
    }
}

extension Character {
    fileprivate var isLowerHex: Bool { isASCII && ("0"..."9" ~= self || "a"..."f" ~= self) }
}
