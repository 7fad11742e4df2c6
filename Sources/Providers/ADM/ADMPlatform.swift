extension PlatformTraits {
    static let adm = PlatformTraits(
        name: "amazon", title: "Amazon Fire (ADM)", otherNames: ["adm"], tokens: .issued,
        // Source: Amazon, ADM, "Sending a message".
        payload: .android(
            AndroidForm(
                parts: ["amazon"], bytesMax: 6_144, collapseKeyLimit: (service: "ADM", bytes: 64),
                foreignFields: [
                    "consolidationKey": .collapseKey, "consolidation_key": .collapseKey, "expiresAfter": .lifetime,
                    "expires_after": .lifetime, "ttl": .lifetime, "md5": .none,
                ])),
        interactiveSince: OSVersion(4, 1), systemOfPCF: "android",
        credentialsHelp: "developer.amazon.com → your app → Security profile: the client id and the client secret.",
        credentials: [
            CredentialField("client_id", "Client id", isRequired: true),
            CredentialField("client_secret", "Client secret", .secret, isRequired: true),
        ], hasEndpoint: true)
}
