import BelfryService
import Foundation

/// The form for the credentials of a type of platform: its fields, and where to find their values.
enum CredentialFields {
    /// The types that one may add, in the order in which they are offered.
    static let kinds: [PlatformKind] =
        [
            .ios, .androidFCM, .web, .huawei, .amazon, .windows8, .webhook, .android, .androidBaidu, .windowsPhone,
            .bb10,
        ] + PlatformKind.allCases.filter { $0.isApple && $0 != .ios }

    static func explanation(of kind: PlatformKind) -> String {
        switch kind {
        case .apple:
            "developer.apple.com → Certificates, Identifiers & Profiles → Keys: make a key with Apple Push Notifications service and "
                + "download its .p8 file, which Apple offers once. The key id stands beside it, the team id at the top right under "
                + "Membership. An old p12 certificate works as well."
        case .androidFCM:
            "console.firebase.google.com → your project → Project settings → Service accounts → Generate new private key. Upload the JSON file."
        case .web:
            "Nothing has to be fetched: leave the key empty and a pair is made here. The public half goes into your web app."
        case .huawei:
            "AppGallery Connect → your project → Project settings: the app id and secret; or a service account file for Push Kit v3."
        case .amazon: "developer.amazon.com → your app → Security profile: the client id and the client secret."
        case .windows8:
            "Partner Center → your app → WNS: the package SID and the secret; or tenant and client id of the app registration."
        case .webhook: "Pushes are posted to this address of yours, signed with the secret."
        case .android: "The key of a gateway that speaks gcm/send. Google's own is closed: new apps take Firebase."
        case .androidBaidu: "Baidu closed this service; devices register and pushes wait."
        case .windowsPhone: "A certificate and its key in PEM, or nothing for the limited service."
        case .bb10: "The application id and password that BlackBerry issued for push."
        }
    }

    static func fields(of kind: PlatformKind) -> [Field] {
        switch kind {
        case .apple:
            [
                .text("topic", "Bundle id", hint: "As in Xcode, such as com.example.app.", isRequired: true),
                .file("apns_key", "Signing key (.p8)", accept: ".p8,.pem"),
                .text("key_id", "Key id", hint: "Ten characters; part of the file's name: AuthKey_KEYID.p8."),
                .text("team_id", "Team id", hint: "Ten characters."),
                .file("apns_certificate", "Or a certificate (.p12)", accept: ".p12,.pfx"),
                .text("passphrase", "Passphrase of the certificate", type: "password", autocomplete: "new-password"),
            ]
        case .androidFCM: [.file("service_account", "Service account (.json)", accept: ".json", isRequired: true)]
        case .web:
            [
                .text(
                    "vapid_key", "VAPID private key",
                    hint:
                        "Leave it empty to make a pair, or to keep the one that is here: with another all subscriptions are lost.",
                    type: "password", autocomplete: "new-password"),
                .text(
                    "subject", "Contact", hint: "mailto: or https: address that browsers' services may write to.",
                    placeholder: "mailto:ops@example.com"),
            ]
        case .huawei:
            [
                .text("app_id", "App id"),
                .text("app_secret", "App secret", type: "password", autocomplete: "new-password"),
                .text("project_id", "Project id", hint: "For v2."),
                .file("service_account", "Or a service account (.json), for v3", accept: ".json"),
            ]
        case .amazon:
            [
                .text("client_id", "Client id", isRequired: true),
                .text(
                    "client_secret", "Client secret", isRequired: true, type: "password", autocomplete: "new-password"),
            ]
        case .windows8:
            [
                .text("package_sid", "Package SID", placeholder: "ms-app://s-1-15-2-…"),
                .text("tenant_id", "Or tenant id"),
                .text("client_id", "with client id"),
                .text(
                    "client_secret", "Client secret", isRequired: true, type: "password", autocomplete: "new-password"),
            ]
        case .webhook:
            [
                .text("url", "Address", isRequired: true, type: "url", placeholder: "https://example.com/push"),
                .text(
                    "secret", "Secret", hint: "Signs what is posted.", type: "password", autocomplete: "new-password"),
            ]
        case .android:
            [.text("gcm_api_key", "API key", isRequired: true, type: "password", autocomplete: "new-password")]
        case .androidBaidu: []
        case .windowsPhone:
            [
                .file("certificate", "Certificate (PEM)", accept: ".pem,.crt"),
                .file("private_key", "Its key (PEM)", accept: ".pem,.key"),
            ]
        case .bb10:
            [
                .text("application_id", "Application id", isRequired: true),
                .text("password", "Password", isRequired: true, type: "password", autocomplete: "new-password"),
                .text("content_provider_id", "Content provider id"),
            ]
        }
    }

    /// Fields for tests and for gateways of one's own.
    static func rareFields(of kind: PlatformKind) -> [Field] {
        guard kind != .androidBaidu else { return [] }
        var fields: [Field] = []
        switch kind {
        case .apple, .androidFCM, .huawei, .amazon, .android:
            fields.append(
                .text(
                    "endpoint", "Another endpoint", hint: "For tests; leave it empty for the provider's own.",
                    placeholder: "https://host:port"))
        case .web, .windows8, .webhook, .windowsPhone, .bb10, .androidBaidu: break
        }
        fields.append(
            .file(
                "trust_root", "Certificates to trust instead of the system's (PEM)", accept: ".pem,.crt",
                hint: "For tests and for gateways with a certificate of their own."))
        return fields
    }

    /// The entered values, in the form that the admin API takes.
    static func entered(_ form: FormData, of kind: PlatformKind) -> [String: JSONValue] {
        var entered: [String: JSONValue] = [:]
        for field in fields(of: kind) + rareFields(of: kind) {
            if field.isFile {
                guard let file = form.file(field.name) else { continue }
                entered[field.name] = .string(
                    field.name == "apns_certificate"
                        ? Data(file).base64EncodedString() : String(decoding: file, as: UTF8.self))
            } else if !form[field.name].isEmpty {
                entered[field.name] = .string(field.isSecret ? form.raw(field.name) : form[field.name])
            }
        }
        return entered
    }
}
