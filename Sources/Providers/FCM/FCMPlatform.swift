extension PlatformTraits {
    static let fcm = PlatformTraits(
        name: "android-fcm", title: "Android (Firebase)", otherNames: ["fcm", "firebase"], tokens: .issued,
        payload: .android(AndroidForm(parts: ["android-fcm", "androidFcm"], hasGoogleKeys: true)),
        replacing: .always, interactiveSince: OSVersion(4, 1), systemOfPCF: "android",
        credentialsHelp:
            "console.firebase.google.com → your project → Project settings → Service accounts → Generate new private key. Upload the JSON file. "
            + "Without a key: the file of gcloud iam workload-identity-pools create-cred-config.",
        credentials: [
            CredentialField("service_account", "Service account or workload identity (.json)", .file(accept: ".json")),
            CredentialField(
                "project_id", "Firebase project",
                hint:
                    "Only where the file does not say it. Without a file: the server's own account at Google, for operators."
            ),
        ], hasEndpoint: true)
}
