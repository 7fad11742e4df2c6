extension PlatformTraits {
    static let webPush = PlatformTraits(
        name: "web", title: "Web Push", otherNames: ["webpush", "browser"], tokens: .subscription, payload: .web,
        replacing: .always,
        credentialsHelp:
            "Nothing has to be fetched: leave the key empty and a pair is made here. The public half goes into your web app.",
        credentials: [
            CredentialField(
                "vapid_key", "VAPID private key", .secret,
                hint:
                    "Leave it empty to make a pair, or to keep the one that is here: with another all subscriptions are lost."
            ),
            CredentialField(
                "subject", "Contact", hint: "mailto: or https: address that browsers' services may write to.",
                placeholder: "mailto:ops@example.com"),
        ])
}
