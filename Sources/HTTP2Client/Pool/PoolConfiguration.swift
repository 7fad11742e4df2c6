/// How a pool grows, shrinks and gives up.
public struct HTTP2PoolConfiguration: Sendable {
    public var connection = HTTP2Configuration()
    /// The most connections open or opening at once.
    public var connectionsMax = 4
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
