import BelfryServer
import BelfrySimulators
import Foundation
import Testing

/// An issuer of OpenID Connect whose certificate is of a CA that the system does not know.
extension ServerTests {
    @Suite struct PrivateIssuerTests {}
}

extension ServerTests.PrivateIssuerTests {
    /// The page for a person who chooses the issuer.
    private static func page(_ installation: TestInstallation, _ settings: [String: String]) async throws -> String {
        let server = try await installation.serve(settings)
        defer { server.endAtOnce() }
        let browser = Caller(base: try await server.addresses().http, user: "", secret: "")
        let answer = try await browser.send("GET", "/dashboard/sign-on/corp")
        #expect(answer.status == 401)
        return answer.body
    }

    @Test func `an issuer's private CA works once named`() async throws {
        // It is no issuer, but it answers over TLS.
        let issuer = try await HMSSimulator.start()
        let result = await Result {
            try await TestInstallation.with { installation in
                let roots = try installation.scratch.write(issuer.trustRootPEM, to: "ca.pem")
                let settings = [
                    "BELFRY_DASHBOARD_SSO_ISSUERS": "corp", "BELFRY_DASHBOARD_SSO_CORP_ISSUER": issuer.url,
                    "BELFRY_DASHBOARD_SSO_CORP_CLIENT_ID": "belfry", "BELFRY_DASHBOARD_SSO_CORP_PRIVATE": "true",
                ]
                let unknown = try await Self.page(installation, settings)
                #expect(unknown.contains("The issuer cannot be reached; the server&#39;s log says why"), "\(unknown)")
                let known = try await Self.page(
                    installation, settings.merging(["BELFRY_DASHBOARD_SSO_CORP_TRUST_ROOT_FILE": roots]) { $1 })
                #expect(known.contains("answers with something else than JSON (404)"), "\(known)")
            }
        }
        try await issuer.shutdown()
        try result.get()
    }
}
