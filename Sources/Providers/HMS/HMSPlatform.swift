extension PlatformTraits {
    static let hms = PlatformTraits(
        name: "huawei", title: "Huawei (Push Kit)", otherNames: ["hms"], tokens: .issued,
        payload: .android(AndroidForm(parts: ["huawei"], countedFrameBytes: 120)), replacing: .byKey,
        credentialsHelp:
            "AppGallery Connect → your project → Project settings: the app id and secret; or a service account file for Push Kit v3.",
        credentials: [
            CredentialField("app_id", "App id"),
            CredentialField("app_secret", "App secret", .secret),
            CredentialField("project_id", "Project id", hint: "For v2."),
            CredentialField("service_account", "Or a service account (.json), for v3", .file(accept: ".json")),
        ], hasEndpoint: true)
}
