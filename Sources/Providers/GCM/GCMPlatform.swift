extension PlatformTraits {
    static let gcm = PlatformTraits(
        name: "android", title: "Android (GCM)", otherNames: ["gcm"], tokens: .issued,
        payload: .android(AndroidForm(hasGoogleKeys: true)), interactiveSince: OSVersion(4, 1), systemOfPCF: "android",
        credentialsHelp:
            "The key of a gateway that speaks gcm/send. Google's own is closed: new apps take Firebase.",
        credentials: [CredentialField("gcm_api_key", "API key", .secret, isRequired: true)], hasEndpoint: true)

    /// Baidu has no provider.
    static let baidu = PlatformTraits(
        name: "android-baidu", title: "Android (Baidu)", tokens: .issued,
        payload: .android(AndroidForm(parts: ["android-baidu"])), interactiveSince: OSVersion(4, 1),
        systemOfPCF: "android", credentialsHelp: "Baidu closed this service; devices register and pushes wait.",
        credentials: [])
}
