import Testing

@testable import BelfrySimulators

@Suite struct ConnectionCredentialsTests {
    static let now: Int64 = 1_800_000_000

    private func token(key: String = "KEY", team: String = "TEAM", issuedAt: Int64 = now) throws -> ProviderToken {
        let jwt = try APNsSimulator.IssuedKey(keyID: key, teamID: team).providerToken(issuedAt: issuedAt)
        return try #require(ProviderToken(jwt: jwt))
    }

    @Test func `a token is valid one hour, never before issue`() throws {
        var credentials = ConnectionCredentials()
        #expect(credentials.validate(try token(issuedAt: Self.now + 1), at: Self.now) == .invalidProviderToken)
        #expect(credentials.validate(try token(issuedAt: Self.now - 3601), at: Self.now) == .expiredProviderToken)
        #expect(credentials.validate(try token(issuedAt: Self.now - 3600), at: Self.now) == nil)
    }

    @Test func `a connection keeps its first team and key`() throws {
        var credentials = ConnectionCredentials()
        #expect(credentials.validate(try token(), at: Self.now) == nil)
        #expect(credentials.validate(try token(key: "OTHER"), at: Self.now) == .unrelatedKeyIDInToken)
        #expect(credentials.validate(try token(team: "OTHER"), at: Self.now) == .invalidProviderToken)
        #expect(credentials.validate(try token(), at: Self.now) == nil)
    }

    @Test func `an early second token is refused and the first stays`() throws {
        var credentials = ConnectionCredentials()
        let later = Self.now + 1199
        #expect(credentials.validate(try token(issuedAt: Self.now - 10), at: Self.now) == nil)
        #expect(credentials.validate(try token(issuedAt: Self.now), at: Self.now) == nil)
        #expect(credentials.validate(try token(issuedAt: later), at: later) == .tooManyProviderTokenUpdates)
        #expect(credentials.validate(try token(issuedAt: Self.now), at: later) == nil)
        #expect(credentials.validate(try token(issuedAt: later), at: later + 1) == nil)
    }

    @Test func `only a known key's own signature is believed`() throws {
        let key = APNsSimulator.IssuedKey(keyID: "KEY", teamID: "TEAM")
        let impostor = APNsSimulator.IssuedKey(keyID: "KEY", teamID: "TEAM")
        let check = ProviderTokenCheck(keys: ["KEY": key.known])
        func finding(_ jwt: String) -> ProviderToken? { Array(jwt.utf8).withUnsafeBytes { check.finding(for: $0) } }
        #expect(finding(try key.providerToken(issuedAt: Self.now))?.teamID == "TEAM")
        #expect(finding(try impostor.providerToken(issuedAt: Self.now)) == nil)
        #expect(finding("a.b.c") == nil)
        let stranger = APNsSimulator.IssuedKey(keyID: "STRANGER", teamID: "TEAM")
        #expect(finding(try stranger.providerToken(issuedAt: Self.now)) == nil)
    }
}
