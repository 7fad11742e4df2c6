extension PlatformTraits {
    static let webhook = PlatformTraits(
        name: "webhook", title: "Webhook", tokens: .printable, payload: .webhook,
        credentialsHelp: "Pushes are posted to this address of yours, signed with the secret.",
        credentials: [
            CredentialField("url", "Address", .url, placeholder: "https://example.com/push", isRequired: true),
            CredentialField("secret", "Secret", .secret, hint: "Signs each request to the gateway."),
        ])
}
