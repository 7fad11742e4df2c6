extension PlatformTraits {
    static let fcm = PlatformTraits(
        name: "android-fcm", title: "Android (Firebase)", otherNames: ["fcm", "firebase"], tokens: .issued,
        payload: .android(AndroidForm(parts: ["android-fcm", "androidFcm"], hasGoogleKeys: true)),
        replacing: .always, interactiveSince: OSVersion(4, 1), systemOfPCF: "android",
        credentialsHelp: fcmHelp, credentials: fcmCredentials, hasEndpoint: true)

    /// Apps on Apple's systems with Firebase's SDK. The payload is Apple's own, which FCM hands to APNs.
    static let fcmForApple = PlatformTraits(
        name: "ios-fcm", title: "iOS, iPadOS, macOS (Firebase)", otherNames: ["firebaseios", "fcmios"], tokens: .issued,
        payload: .apple(.app), replacing: .always, interactiveSince: OSVersion(8, 0),
        credentialsHelp: fcmHelp + " The project needs the APNs key too: Project settings → Cloud Messaging.",
        credentials: fcmCredentials, hasEndpoint: true)

    /// Sites with Firebase's SDK, whose worker shows notifications by itself.
    static let fcmForWeb = PlatformTraits(
        name: "web-fcm", title: "Browsers (Firebase)", otherNames: ["firebaseweb", "fcmweb"], tokens: .issued,
        payload: .web, replacing: .always, credentialsHelp: fcmHelp, credentials: fcmCredentials, hasEndpoint: true)

    /// Half the size of other messages. Source: Firebase, "Topic messaging".
    static let fcmTopic = PlatformTraits(
        name: "fcm-topic", title: "Firebase topics", otherNames: ["firebasetopic", "topic"],
        tokens: .printable, payload: .android(AndroidForm(bytesMax: 2_048, hasGoogleKeys: true)),
        credentialsHelp: fcmHelp, credentials: fcmCredentials, hasEndpoint: true)

    private static let fcmHelp =
        "console.firebase.google.com → your project → Project settings → Service accounts → Generate new private key. Upload the JSON file. "
        + "Without a key: the file of gcloud iam workload-identity-pools create-cred-config."

    private static let fcmCredentials = [
        CredentialField("service_account", "Service account or workload identity (.json)", .file(accept: ".json")),
        CredentialField(
            "project_id", "Firebase project",
            hint:
                "Only where the file does not say it. Without a file: the server's own account at Google, for operators."
        ),
    ]
}
