/// The caller that a look-up is counted for.
///
/// A caller that can name hosts can name some that never answer. So each caller has a share of the look-ups under way, and callers
/// take turns beyond it.
public struct NameCaller: Sendable, Hashable {
    /// The purpose of a look-up. Each lane has its sockets, its limits and its own cache, so that none waits for another.
    public enum Lane: Sendable, Hashable, CaseIterable {
        /// Names in requests that somebody waits for: proofs of registrations, tests of credentials, issuers.
        case doors
        /// Names in tokens and credentials that pushes go to.
        case delivery
        /// Names in the server's own configuration. They alone are completed by the search domains of the machine.
        case configured
    }

    public let lane: Lane
    /// nil for the server itself.
    public let application: Int64?
    public let tenant: Int64?

    public init(_ lane: Lane, application: Int64? = nil, tenant: Int64? = nil) {
        self.lane = lane
        self.application = application
        self.tenant = tenant
    }

    /// The caller of the task.
    @TaskLocal public static var current = NameCaller(.doors)
}

/// Why a name has no address now.
public enum NameFault: Error, Sendable, Hashable {
    /// There is no such name, or it has no address.
    case unknown
    /// The servers of the name gave no answer in time.
    case unanswered
    /// The limit of waiting look-ups is reached.
    case full
}

/// How many look-ups each lane may have, and how long answers are kept.
public struct NameLimits: Sendable {
    /// Under way at a time: for one application, for all of a tenant, for all.
    public var (application, tenant, total) = (32, 128, 1_024)
    /// Waiting for those: for one tenant, or one application without one, and for all.
    public var (waitingOfTenant, waiting) = (1_024, 8_192)
    /// How long a caller waits.
    public var deadline = Duration.seconds(5)
    /// How long addresses are kept at least and at most, whatever their time to live says.
    public var kept = Duration.seconds(5)...Duration.seconds(60)
    /// How long it is kept that a name has no address.
    public var faultKept = Duration.seconds(5)
    /// The names whose answers are kept.
    public var namesKept = 4_096
    /// The addresses of a name that are looked at.
    public var addressesMax = 16

    public init() {}
}
