extension PlatformTraits {
    static func apns(_ use: AppleTokenUse) -> PlatformTraits {
        PlatformTraits(
            name: use == .app ? "ios" : "ios-\(use.rawValue)",
            title: use == .app ? "iOS, iPadOS, macOS" : "Apple: \(use.rawValue)",
            otherNames: use == .app ? ["apns", "apple", "iphone"] : [], hasModes: true,
            // The token of a channel is its id.
            tokens: use == .broadcast ? .issued : .hex, payload: .apple(use),
            replacing: use == .app ? .always : .never, interactiveSince: OSVersion(8, 0), systemOfPCF: "ios",
            credentialsHelp:
                "developer.apple.com → Certificates, Identifiers & Profiles → Keys: make a key with Apple Push Notifications service and "
                + "download its .p8 file, which Apple offers once. The key id stands beside it, the team id at the top right under "
                + "Membership. An old p12 certificate works as well.",
            credentials: [
                CredentialField("topic", "Bundle id", hint: "As in Xcode, such as com.example.app.", isRequired: true),
                CredentialField("apns_key", "Signing key (.p8)", .file(accept: ".p8,.pem")),
                CredentialField(
                    "key_id", "Key id", hint: "Ten characters; part of the file's name: AuthKey_KEYID.p8."),
                CredentialField("team_id", "Team id", hint: "Ten characters."),
                CredentialField(
                    "apns_certificate", "Or a certificate (.p12)", .file(accept: ".p12,.pfx", isBinary: true)),
                CredentialField("passphrase", "Passphrase of the certificate", .secret),
            ], hasEndpoint: true)
    }
}
