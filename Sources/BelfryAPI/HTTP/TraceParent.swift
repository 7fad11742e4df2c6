import HTTPTypes
import Hummingbird
import Logging

/// What a caller says of the trace it is in. Source: W3C Trace Context, §3.2 "Traceparent Header".
struct TraceParent: Equatable {
    let trace: Substring
    /// What the caller was doing when it called.
    let span: Substring

    /// `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`; later versions may add to it. nil for everything else, which is
    /// to be read as if it were not there.
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
}

extension TraceParent {
    init?(of request: Request) {
        guard let text = request.headers[.traceparent] else { return nil }
        self.init(text)
    }
}

extension Logger {
    /// Has all that is logged from here on name the trace it belongs to.
    mutating func name(_ parent: TraceParent) {
        self[metadataKey: "trace.id"] = "\(parent.trace)"
        self[metadataKey: "trace.parent.id"] = "\(parent.span)"
    }
}

extension Character {
    fileprivate var isLowerHex: Bool { isASCII && ("0"..."9" ~= self || "a"..."f" ~= self) }
}
