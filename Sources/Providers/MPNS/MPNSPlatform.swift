extension PlatformTraits {
    static let mpns = PlatformTraits(
        name: "windowsPhone", title: "Windows Phone (MPNS)", otherNames: ["mpns"],
        tokens: .url(schemes: ["https", "http"]), payload: .windowsPhone, systemOfPCF: "windowsphone",
        credentialsHelp: "A certificate and its key in PEM, or nothing for the limited service.",
        credentials: [
            CredentialField("certificate", "Certificate (PEM)", .file(accept: ".pem,.crt")),
            CredentialField("private_key", "Its key (PEM)", .file(accept: ".pem,.key")),
        ])
}
