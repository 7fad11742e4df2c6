/// Decides when a provider token is signed anew, and its time of issue. Times in Unix seconds.
///
/// The time of issue lies on a grid that all nodes share, so that nodes behind one address present tokens of the same
/// age. APNs refuses a token older than an hour, and a change within 20 minutes on one connection.
/// Source: Apple, "Establishing a token-based connection to APNs".
struct TokenSchedule: Equatable {
    /// Distance between two grid points.
    static let grid: Int64 = 30 * 60
    /// How far behind the clock a grid point is used, so that a fast clock signs nothing in the future.
    static let lag: Int64 = 2 * 60
    /// The least time between two tokens.
    static let ageMin: Int64 = 20 * 60

    private(set) var issuedAt: Int64?
    /// Counts the tokens that APNs reported expired and that were replaced.
    private(set) var generation = 0

    /// Moves to a new time of issue if one is due; true if a token must be signed.
    mutating func advance(at now: Int64) -> Bool {
        let point = (now - Self.lag) / Self.grid * Self.grid
        guard let issuedAt else {
            self.issuedAt = point
            return true
        }
        // A clock that was set back leaves a token from the future, which APNs refuses.
        guard point - issuedAt >= Self.ageMin || issuedAt > now else { return false }
        self.issuedAt = point
        return true
    }

    /// APNs reported a token of `generation` expired. Only the first of many reports causes a new one, issued now: the
    /// grid point may be the very time that was refused.
    mutating func expire(_ generation: Int, at now: Int64) -> Bool {
        guard generation == self.generation else { return false }
        self.generation += 1
        issuedAt = now
        return true
    }
}
