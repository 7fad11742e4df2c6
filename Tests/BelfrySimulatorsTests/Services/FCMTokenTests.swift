import Testing

@testable import BelfrySimulators

/// The token endpoint: what assertions Google believes.
@Suite(.timeLimit(.minutes(20))) struct FCMTokenTests {
    typealias TestSimulator = TestService<FCMService>
    private static let now = BelfrySimulatorsTests.TestSimulator.now

    static func assertion(
        _ fixture: TestSimulator, _ changes: [String: String?] = [:], header: String? = nil,
        account: ServiceAccount? = nil
    ) async throws -> String {
        let account = account ?? fixture.simulator.service.account
        var claims: [String: String?] = [
            "iss": account.email.quoted, "scope": #""https://www.googleapis.com/auth/firebase.messaging""#,
            "aud": "\(fixture.simulator.url)/token".quoted, "iat": "\(now)", "exp": "\(now + 3600)",
        ]
        claims.merge(changes) { $1 }
        let members = claims.compactMap { name, value in value.map { "\(name.quoted):\($0)" } }
        return try await OpenSSL.jwt(
            header: header ?? #"{"alg":"RS256","typ":"JWT","kid":"\#(account.keyID)"}"#,
            claims: "{\(members.joined(separator: ","))}", keyPEM: account.privateKeyPEM)
    }

    static func ask(_ fixture: TestSimulator, _ assertion: String, grantType: String? = nil) async throws -> Curl.Answer
    {
        let type = grantType ?? "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return try await fixture.curl.post(
            "\(fixture.simulator.url)/token", [("content-type", "application/x-www-form-urlencoded")],
            "grant_type=\(type)&assertion=\(assertion)")
    }

    @Test func `a signed assertion buys an access token FCM takes`() async throws {
        try await TestSimulator.with { fixture in
            let answer = try await Self.ask(fixture, try await Self.assertion(fixture))
            let json = try #require(answer.json)
            #expect(answer.status == 200)
            #expect(json["expires_in"]?.integer == 3599)
            #expect(json["token_type"]?.string == "Bearer")
            let bearer = ("authorization", "Bearer \(json["access_token"]?.string ?? "")")
            let body = #"{"message":{"token":"t1"}}"#
            #expect(try await fixture.curl.post(fixture.simulator.sendURL, [bearer], body).status == 200)
            fixture.clock.move(by: 3600)
            #expect(try await fixture.curl.post(fixture.simulator.sendURL, [bearer], body).status == 401)
            #expect(fixture.simulator.service.accessTokens.issued == 1)
        }
    }

    @Test(
        arguments: [
            (["scope": nil], "invalid_scope"), (["scope": #""https://example.org/""#], "invalid_scope"),
            (["aud": #""https://example.org/token""#], "invalid_grant"),
            (["iss": #""stranger@example.org""#], "invalid_grant"),
            (["exp": "\(now + 3601)"], "invalid_grant"),
            (["exp": "\(now - 301)", "iat": "\(now - 3000)"], "invalid_grant"),
            (["iat": "\(now + 301)", "exp": "\(now + 3000)"], "invalid_grant"), (["iat": nil], "invalid_grant"),
        ] as [([String: String?], String)])
    func `an assertion with a wrong claim buys nothing`(changes: [String: String?], error: String) async throws {
        try await TestSimulator.with { fixture in
            let answer = try await Self.ask(fixture, try await Self.assertion(fixture, changes))
            #expect(answer.status == 400)
            #expect(answer.json?["error"]?.string == error)
            #expect(answer.json?["error_description"]?.string != nil)
        }
    }

    @Test func `another key, another algorithm and another grant buy nothing`() async throws {
        try await TestSimulator.with { fixture in
            let stranger = try ServiceAccount(projectID: fixture.simulator.projectID, ownKey: true)
            let forged = try await Self.assertion(fixture, account: stranger)
            #expect(try await Self.ask(fixture, forged).json?["error"]?.string == "invalid_grant")
            let none = try await Self.assertion(fixture, header: #"{"alg":"none"}"#)
            #expect(try await Self.ask(fixture, none).json?["error"]?.string == "invalid_grant")
            let good = try await Self.assertion(fixture)
            let other = try await Self.ask(fixture, good, grantType: "password")
            #expect(other.json?["error"]?.string == "unsupported_grant_type")
        }
    }

    @Test func `the service account file is what the console gives`() async throws {
        try await TestSimulator.with { fixture in
            let file = try #require(JSON(Array(fixture.simulator.serviceAccountJSON.utf8)))
            #expect(file["type"]?.string == "service_account")
            #expect(file["token_uri"]?.string == "\(fixture.simulator.url)/token")
            #expect(file["private_key"]?.string?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
        }
    }
}
