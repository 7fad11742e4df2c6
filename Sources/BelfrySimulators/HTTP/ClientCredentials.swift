/// The client credentials grant, as WNS, HMS and ADM use it. Source: RFC 6749 §4.4.
package struct ClientCredentials: Sendable {
    package var clientID: String
    package var clientSecret: String
    /// The required `scope`; nil when the provider requires none.
    var scope: String?

    package init(clientID: String, clientSecret: String) {
        self.clientID = clientID
        self.clientSecret = clientSecret
    }

    /// Why the request gets no token, as RFC 6749 §5.2 names it; nil when it gets one.
    func complaint(about request: ServiceRequest) -> String? {
        guard request.method == "POST", request.isForm else { return "invalid_request" }
        let form = request.form
        guard form["grant_type"] == "client_credentials" else { return "unsupported_grant_type" }
        guard form["client_id"] == clientID, form["client_secret"] == clientSecret else { return "invalid_client" }
        return scope == nil || form["scope"] == scope ? nil : "invalid_scope"
    }

    static func refuse(_ error: String, status: Int = 400) -> ServiceAnswer {
        .json(status, #"{"error":"\#(error)","error_description":"\#(error)"}"#, reason: error)
    }
}
