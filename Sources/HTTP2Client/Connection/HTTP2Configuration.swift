public import Tunnel

/// What a connection may do and when it gives up.
public struct HTTP2Configuration: Sendable {
    /// The most streams open at once, if the server allows as many.
    public var streamsMax = 1_000
    /// The stream limit until an answer proves that the server accepts our authentication; nil for no such limit.
    ///
    /// APNs with token authentication takes one request until it has answered it.
    public var initialStreamLimit: Int?
    /// Which status proves it.
    public var provesAuthentication: @Sendable (Int) -> Bool = { $0 < 500 && $0 != 401 && $0 != 403 && $0 != 429 }
    /// Looks at each answer of status 400 and above, on the event loop, and says what it means for the connection.
    public var judge: @Sendable (_ status: Int, _ body: Span<UInt8>) -> HTTP2Verdict = { _, _ in .keep }
    /// The response headers to keep, lowercase; all others are dropped unread.
    public var keptHeaders: [String] = []
    /// How much of a response body is kept, in bytes.
    public var bodyBytesMax = 16_384
    /// How many requests may wait for a stream; more are answered as unprocessed at once.
    public var waitingMax = 100_000
    /// Server errors in a row after which the connection is drained.
    public var sickAfter = 20
    /// The way through a proxy; nil to connect directly. TLS is with the server all the same.
    public var tunnel: Tunnel?
    /// TCP, the proxy if there is one, TLS and the server's first SETTINGS together.
    public var connectDeadline = Duration.seconds(10)
    /// Silence with open streams after which a ping asks whether the peer still lives.
    public var pingAfter = Duration.seconds(10)
    /// The same without open streams. Source: Apple asks for a ping when idle for an hour.
    public var idlePingAfter = Duration.seconds(3_600)
    /// How long a ping may stay unanswered.
    public var pingDeadline = Duration.seconds(5)
    /// How often deadlines are looked at while requests are open.
    public var tick = Duration.milliseconds(100)

    public init() {}
}

/// What an answer means for the connection it came on.
public enum HTTP2Verdict: Sendable, Hashable {
    case keep
    /// Open no more streams on it and replace it.
    case retire
    /// Do the same with all connections of the pool, for what was wrong with this one is wrong with them.
    case retireAll
}
