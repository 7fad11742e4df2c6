/// The settings of the PCF Push Notification Service, as its operators have them in the environment.
package enum LegacySettings {
    /// Settings of PCF that do not begin with `push_`.
    private static let others: Set = ["crypto_applicationKey", "liquibase_runMigrations"]

    static func isOld(_ name: String) -> Bool { name.hasPrefix("push_") || others.contains(name) }

    /// Why a setting of PCF means nothing here.
    package static func reason(for name: String) -> String {
        switch name {
        case "crypto_applicationKey":
            "credentials are sealed with the key ring, which is made at the first start"
        case "push_apns_logDeviceTokens", "push_gcm_logDeviceTokens": "tokens are never logged"
        case "push_security_trustAllCerts": "the certificates of providers are always verified"
        default: "there is nothing like it"
        }
    }
}
