/// How an app authenticates to WNS. Source: Microsoft, "Push notification service request and response headers",
/// "Access token request parameters"; Windows App SDK, "Quickstart: Push notifications".
public struct WNSCredentials: Sendable, Hashable {
    let url: String
    let clientID: String
    let secret: String
    let scope: String

    /// An app of the Store: its package SID, `ms-app://…`, and the secret that the Partner Center shows.
    public static func store(
        packageSID: String, secret: String, url: String = "https://login.live.com/accesstoken.srf"
    ) -> WNSCredentials {
        WNSCredentials(url: url, clientID: packageSID, secret: secret, scope: "notify.windows.com")
    }

    /// An app registered in Entra ID: the directory's id, the app's and a client secret.
    ///
    /// - Parameter url: of the token service; nil for Microsoft's.
    public static func entra(tenant: String, clientID: String, secret: String, url: String? = nil) -> WNSCredentials {
        WNSCredentials(
            url: url ?? "https://login.microsoftonline.com/\(tenant)/oauth2/v2.0/token", clientID: clientID,
            secret: secret, scope: "https://wns.windows.com/.default")
    }
}
