/// WNS on this machine: the old token endpoint at `/accesstoken.srf`, the new one at `/{tenant}/oauth2/v2.0/token`, and
/// channels at `/w/?token=…`.
package typealias WNSSimulator = ServiceSimulator<WNSService>

extension ServiceSimulator where S == WNSService {
    /// The channel address of a device. The script and the ledger call it by its token.
    package func channel(_ token: String) -> String { "\(url)/w/?token=\(token)" }

    /// The token endpoint for a Package SID.
    package var storeTokenURL: String { "\(url)/accesstoken.srf" }

    /// The token endpoint for an app of Entra ID.
    package var entraTokenURL: String { "\(url)/\(service.configuration.tenantID)/oauth2/v2.0/token" }
}

/// How a simulated WNS listens and which senders it accepts.
package struct WNSConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// A Package SID and its secret, for the old endpoint.
    package var store = ClientCredentials(
        clientID: "ms-app://s-1-15-2-1000-2000-3000", clientSecret: "V/ex+2uNs3cr3t=")
    /// An app of Entra ID and its secret, for the new endpoint.
    package var entra = ClientCredentials(
        clientID: "6f9b2b4c-0000-4000-8000-000000000001", clientSecret: "Entra~S3cr3t.+/=")
    package var tenantID = "11111111-2222-4333-8444-555555555555"
    /// Takes any bearer token, for benchmarks with senders that ask for none.
    package var believesAnyToken = false
    package var accessTokenLife = Duration.seconds(86_400)
    package var bodyBytesMax = 5000

    package init() {}
}
