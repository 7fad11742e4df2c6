extension PlatformTraits {
    /// Source of categories and foreign fields: Huawei, Push Kit, AndroidConfig.
    static let hms = PlatformTraits(
        name: "huawei", title: "Huawei (Push Kit)", otherNames: ["hms"], tokens: .issued,
        payload: .android(
            AndroidForm(
                parts: ["huawei"], countedFrameBytes: 120,
                categories: [
                    "ACCOUNT", "CUSTOMER_SERVICE", "DEVICE_REMINDER", "EXPRESS", "FINANCE", "HEALTH", "IM", "MAIL",
                    "MARKETING", "PLAY_VOICE", "SUBSCRIPTION", "TRAVEL", "VOIP", "WORK",
                ],
                foreignFields: [
                    "ttl": .lifetime, "notification": .whole,
                    "urgency": ForeignField("what is shown is sent at once"),
                    "importance": ForeignField("the channel says how much it interrupts", .words),
                    "visibility": .visibility, "bi_tag": .none, "fast_app_target": .none,
                ])), replacing: .byKey,
        credentialsHelp:
            "AppGallery Connect → your project → Project settings: the app id and secret; or a service account file for Push Kit v3.",
        credentials: [
            CredentialField("app_id", "App id"),
            CredentialField("app_secret", "App secret", .secret),
            CredentialField("project_id", "Project id", hint: "For v2."),
            CredentialField("service_account", "Or a service account (.json), for v3", .file(accept: ".json")),
        ], hasEndpoint: true)
}
