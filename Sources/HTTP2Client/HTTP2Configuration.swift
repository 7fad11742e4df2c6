package import NIOCore
public import Tunnel

/// The limits and deadlines of a connection.
public struct HTTP2Configuration: Sendable {
    /// The most streams open at once, if the server allows as many.
    public var streamsMax = 1_000
    /// The stream limit until an answer proves that the server accepts our authentication; nil for no such limit.
    ///
    /// APNs with token authentication accepts one request until it has answered it.
    public var initialStreamLimit: Int?
    /// The statuses that prove it.
    public var provesAuthentication: @Sendable (Int) -> Bool = { $0 < 500 && $0 != 401 && $0 != 403 && $0 != 429 }
    /// Decides for each answer of status 400 and above, on the event loop, what it means for the connection.
    public var judge: @Sendable (_ status: Int, _ body: Span<UInt8>) -> HTTP2Verdict = { _, _ in .keep }
    /// The response headers to keep, lowercase; all others are dropped.
    public var keptHeaders: [String] = []
    /// How much of a response body is kept, in bytes.
    public var bodyBytesMax = 16_384
    /// How many requests may wait for a stream; more are answered as unprocessed at once.
    public var waitingMax = 100_000
    /// Server errors in a row after which the connection is drained.
    public var sickAfter = 20
    /// The route through a proxy; nil to connect directly. TLS is with the server in either case.
    public var tunnel: Tunnel?
    /// Finds the addresses of the host where there is no proxy; nil asks the system, on a thread that waits.
    public var lookUp: HostLookup?
    /// Looks at the peer of each direct connection before a byte is written to it; false ends the connection.
    package var admitsPeer: (@Sendable (SocketAddress) -> Bool)?
    /// Takes over a connection whose peer chose HTTP/1.1, TLS established, on its event loop; nil offers HTTP/2 alone.
    package var takeHTTP1: (@Sendable (any Channel) -> Void)?
    /// The deadline for TCP, the proxy if there is one, TLS and the server's first SETTINGS together.
    public var connectDeadline = Duration.seconds(10)
    /// How long a connection with open streams may be silent before a ping checks it.
    public var pingAfter = Duration.seconds(10)
    /// How long a connection without open streams may be silent before a ping checks it. Source: Apple asks for a ping when idle for
    /// an hour.
    public var idlePingAfter = Duration.seconds(3_600)
    /// How long a ping may stay unanswered.
    public var pingDeadline = Duration.seconds(5)
    /// How often deadlines are checked while requests are open.
    public var tick = Duration.milliseconds(100)

    public init() {}
}

/// The meaning of an answer for its connection.
public enum HTTP2Verdict: Sendable, Hashable {
    case keep
    /// Open no more streams on it and replace it.
    case retire
    /// Do the same with all connections of the pool, because the cause concerns them all.
    case retireAll
}

/// How a pool grows, shrinks and gives up.
public struct HTTP2PoolConfiguration: Sendable {
    public var connection = HTTP2Configuration()
    /// The most connections open or opening at once.
    public var connectionsMax = 4
    /// The event loops of all connections but the first, which urgent requests have for themselves; nil for those of the pool.
    package var broadcastLoops: (any EventLoopGroup)?
    /// The least time between two openings; quick cycles look like an attack to APNs.
    public var openSpacing = Duration.milliseconds(500)
    /// Idle connections beyond the first are closed after this.
    public var idleMax = Duration.seconds(600)
    /// The last connection is closed after this.
    public var lastIdleMax = Duration.seconds(86_400)
    /// The first and the longest wait after a failed connect.
    public var backOffFirst = Duration.seconds(1)
    public var backOffLongest = Duration.seconds(60)
    /// Whether requests wait for the next connect after a failed one, or are refused with it.
    public var outlastsBackOff = true
    /// How often requests that the server certainly did not process are sent again.
    public var replaysMax = 3
    /// How long a retired connection may take to answer what it has.
    public var drainDeadline = Duration.seconds(30)
    /// Asked for each connection before it is opened.
    package var permits: (any ConnectionPermits)?
    /// Adds a header to every batch at the moment it goes to a connection, such as a token that is renewed.
    public var authorize: (@Sendable () throws -> HTTP2Header)?
    /// Changes the configuration of each connection as it is opened, such as for a judge that knows its age.
    public var prepare: (@Sendable (inout HTTP2Configuration) -> Void)?

    public init() {}
}

extension UInt8 {
    /// Whether it is a letter or a digit of ASCII.
    package var isAlphanumeric: Bool { 0x30...0x39 ~= self || 0x41...0x5A ~= self || 0x61...0x7A ~= self }
}

extension Duration {
    /// Nanoseconds, at least 0 and at most about 146 years.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64.max / 2_000_000_000 else { return UInt64(Int64.max / 2) }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
