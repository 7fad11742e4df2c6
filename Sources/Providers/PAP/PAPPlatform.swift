extension PlatformTraits {
    static let pap = PlatformTraits(
        name: "bb10", title: "BlackBerry 10", otherNames: ["blackberry"], hasModes: true, tokens: .issued,
        payload: .bb10, systemOfPCF: "bb10",
        credentialsHelp: "The application id and password that BlackBerry issued for push.",
        credentials: [
            CredentialField("application_id", "Application id", isRequired: true),
            CredentialField("password", "Password", .secret, isRequired: true),
            CredentialField("content_provider_id", "Content provider id"),
        ])
}
