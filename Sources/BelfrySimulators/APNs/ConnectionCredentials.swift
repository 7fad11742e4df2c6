/// The provider tokens that one connection has used. Pure: the time is a parameter.
///
/// Source: Apple, "Establishing a token-based connection to APNs": at most an hour old, refreshed no more than once
/// every 20 minutes on a connection, one team and one key to a connection.
struct ConnectionCredentials {
    static let ageMaxSeconds: Int64 = 60 * 60
    static let updateIntervalSeconds: Int64 = 20 * 60

    private var first: (teamID: String, keyID: String)?
    private var issuedAt: Int64?
    private var changedAt: Int64?

    /// The fault of a token whose signature is valid; nil when there is none.
    mutating func validate(_ token: ProviderToken, at now: Int64) -> APNsReason? {
        if let complaint = Self.complaintAboutAge(issuedAt: token.issuedAt, at: now) { return complaint }
        if let first, first.teamID != token.teamID { return .invalidProviderToken }
        if let first, first.keyID != token.keyID { return .unrelatedKeyIDInToken }
        first = first ?? (token.teamID, token.keyID)
        return complaintAboutUpdate(issuedAt: token.issuedAt, at: now)
    }

    static func complaintAboutAge(issuedAt: Int64, at now: Int64) -> APNsReason? {
        if issuedAt > now { return .invalidProviderToken }
        return now - issuedAt > ageMaxSeconds ? .expiredProviderToken : nil
    }

    private mutating func complaintAboutUpdate(issuedAt: Int64, at now: Int64) -> APNsReason? {
        defer { if self.issuedAt == nil { self.issuedAt = issuedAt } }
        guard let last = self.issuedAt, last != issuedAt else { return nil }
        if let changedAt, now - changedAt < Self.updateIntervalSeconds { return .tooManyProviderTokenUpdates }
        self.issuedAt = issuedAt
        changedAt = now
        return nil
    }
}
