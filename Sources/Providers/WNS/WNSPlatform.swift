extension PlatformTraits {
    static let wns = PlatformTraits(
        name: "windows8", title: "Windows (WNS)", otherNames: ["wns", "windows"], tokens: .url(schemes: ["https"]),
        payload: .windows8, replacing: .byKey, systemOfPCF: "windows8",
        credentialsHelp:
            "Partner Center → your app → WNS: the package SID and the secret; or tenant and client id of the app registration.",
        credentials: [
            CredentialField("package_sid", "Package SID", placeholder: "ms-app://s-1-15-2-…"),
            CredentialField("tenant_id", "Or tenant id"),
            CredentialField("client_id", "with client id"),
            CredentialField("client_secret", "Client secret", .secret, isRequired: true),
        ])
}
