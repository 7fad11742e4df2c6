/// Huawei Push Kit on this machine: the token endpoint at `/oauth2/v3/token`, messages at `/v1`, `/v2` and `/v3`.
package typealias HMSSimulator = ServiceSimulator<HMSService>

extension ServiceSimulator where S == HMSService {
    package var tokenURL: String { "\(url)/oauth2/v3/token" }

    /// The address for messages: `v1` with the id of the app, `v2` and `v3` with that of the project.
    package func sendURL(_ version: String = "v1") -> String {
        let configuration = service.configuration
        let id = version == "v1" ? configuration.credentials.clientID : configuration.projectID
        return "\(url)/\(version)/\(id)/messages:send"
    }
}

/// How a simulated Push Kit listens and which senders it accepts.
package struct HMSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The id of the app and its secret, for `v1` and `v2`.
    package var credentials = ClientCredentials(clientID: "100000001", clientSecret: "hms+secret/0123=")
    package var projectID = "736430079244623063"
    /// The key that signs for `v3`; nil makes a new one.
    package var account: ServiceAccount?
    package var accessTokenLife = Duration.seconds(3600)

    package init() {}
}
