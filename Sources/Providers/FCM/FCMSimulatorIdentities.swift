/// The ways to a token of Google without a key: another identity provider at `/subject`, the exchange at `/v1/token`, the impersonation
/// of a service account at `/v1/projects/-/serviceAccounts/{email}:generateAccessToken`, and the metadata server.
///
/// Source: Google, Security Token Service API; IAM Service Account Credentials API; "About VM metadata".
package final class SimulatedIdentities: Sendable {
    static let audience =
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/belfry/providers/simulated"
    static let metadataPath = "/computeMetadata/v1/instance/service-accounts/default/token"
    /// The longest lifetime of a service account's token without a policy that extends it.
    static let lifeMaxSeconds: Int64 = 3_600

    /// The tokens of the other identity provider.
    package let subjects = AccessTokens(prefix: "eyJhbGciOiJSUzI1NiJ9.")
    /// The exchanged tokens that only impersonate.
    package let federated = AccessTokens(prefix: "ya29.d.")
    private let account: String
    /// The tokens that FCM accepts.
    private let accessTokens: AccessTokens

    init(account: String, _ accessTokens: AccessTokens) {
        self.account = account
        self.accessTokens = accessTokens
    }

    /// A subject token, as the other provider writes it into a file.
    package func subject(for life: Duration = .seconds(3_600)) -> String {
        subjects.issue(to: "workload", for: life, at: WallClock.now())
    }

    /// nil for the paths of others.
    func answer(to request: ServiceRequest, at now: Duration) -> ServiceAnswer? {
        switch request.path {
        case "/subject": .json(200, #"{"access_token":"\#(subject())"}"#)
        case "/v1/token": exchange(request, now)
        case "/v1/projects/-/serviceAccounts/\(account):generateAccessToken": impersonate(request, now)
        case Self.metadataPath: metadata(request, now)
        default: nil
        }
    }

    private func exchange(_ request: ServiceRequest, _ now: Duration) -> ServiceAnswer {
        let form = request.form
        guard request.method == "POST", request.isForm,
            form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange",
            form["requested_token_type"] == "urn:ietf:params:oauth:token-type:access_token",
            form["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt", let scope = form["scope"]
        else { return ClientCredentials.refuse("invalid_request") }
        guard form["audience"] == Self.audience else { return ClientCredentials.refuse("invalid_target") }
        switch subjects.find(form["subject_token"] ?? "", at: now) {
        case .good: break
        case .expired: return refuse("The ID Token issued at 1 is stale to sign-in.")
        // A server may quote what it was sent.
        case .unknown: return refuse("Invalid token \(form["subject_token"] ?? "").")
        }
        let isForFCM = scope == "https://www.googleapis.com/auth/firebase.messaging"
        guard isForFCM || scope == "https://www.googleapis.com/auth/cloud-platform" else {
            return ClientCredentials.refuse("invalid_scope")
        }
        let tokens = isForFCM ? accessTokens : federated
        let token = tokens.issue(to: account, for: .seconds(3_600), at: now)
        return .json(
            200,
            #"{"access_token":"\#(token)","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","#
                + #""token_type":"Bearer","expires_in":3600}"#)
    }

    private func refuse(_ description: String) -> ServiceAnswer {
        .json(
            400, #"{"error":"invalid_grant","error_description":\#(description.quoted)}"#, reason: "invalid_grant")
    }

    private func impersonate(_ request: ServiceRequest, _ now: Duration) -> ServiceAnswer {
        guard federated.find(request.bearer ?? "", at: now) == .good(subject: account) else {
            return error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        }
        guard request.method == "POST", let body = JSON(request.body), let life = body["lifetime"]?.string,
            life.hasSuffix("s"), let seconds = Int64(life.dropLast()), 0...Self.lifeMaxSeconds ~= seconds,
            body["scope"]?.array?.compactMap(\.string) == ["https://www.googleapis.com/auth/firebase.messaging"]
        else { return error(400, "INVALID_ARGUMENT", "Request contains an invalid argument.") }
        let token = accessTokens.issue(to: account, for: .seconds(seconds), at: now)
        return .json(200, #"{"accessToken":"\#(token)","expireTime":"2030-01-01T00:00:00Z"}"#)
    }

    private func metadata(_ request: ServiceRequest, _ now: Duration) -> ServiceAnswer {
        guard request.field("metadata-flavor") == "Google", request.field("x-forwarded-for") == nil else {
            return .html(403, "<title>Error 403 (Forbidden)!!1</title> Missing required header: Metadata-Flavor")
        }
        let token = accessTokens.issue(to: account, for: .seconds(3_599), at: now)
        return .json(
            200, #"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#,
            fields: [("metadata-flavor", "Google")])
    }

    private func error(_ code: Int, _ status: String, _ message: String) -> ServiceAnswer {
        .json(
            code, #"{"error":{"code":\#(code),"message":\#(message.quoted),"status":"\#(status)"}}"#, reason: status)
    }
}
