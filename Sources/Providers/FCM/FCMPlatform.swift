extension PlatformTraits {
    static let fcm = PlatformTraits(
        name: "android-fcm", title: "Android (Firebase)", otherNames: ["fcm", "firebase"], tokens: .issued,
        payload: .android(AndroidForm(parts: ["android-fcm", "androidFcm"], hasGoogleKeys: true)),
        replacing: .always, interactiveSince: OSVersion(4, 1), systemOfPCF: "android",
        credentialsHelp:
            "console.firebase.google.com → your project → Project settings → Service accounts → Generate new private key. Upload the JSON file.",
        credentials: [
            CredentialField("service_account", "Service account (.json)", .file(accept: ".json"), isRequired: true)
        ], hasEndpoint: true)
}
