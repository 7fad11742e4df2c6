import Foundation

/// Makes keys and certificates with the openssl command.
struct OpenSSL: Sendable {
    let scratch: Scratch

    struct Failed: Error { let arguments: [String] }

    /// A p12 file with a certificate for `topic` that is valid for `days` from now, or was until `-days` ago.
    func p12(_ name: String, topic: String, days: Int, passphrase: String) async throws -> String {
        let (key, certificate, out) = (
            scratch.file("\(name).key"), scratch.file("\(name).pem"), scratch.file("\(name).p12")
        )
        let request = scratch.file("\(name).csr")
        try await run(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key])
        let subject = "/UID=\(topic)/CN=Apple Push Services: \(topic)"
        try await run(["req", "-new", "-key", key, "-subj", subject, "-out", request])
        try await sign(request, with: key, days: days, to: certificate)
        try await run([
            "pkcs12", "-export", "-inkey", key, "-in", certificate, "-passout", "pass:\(passphrase)", "-out", out,
        ])
        return out
    }

    /// A key, and a certificate of its own for `localhost` that is valid for `days` from now, or was until `-days` ago.
    func pair(_ name: String, days: Int = 30) async throws -> (certificate: String, key: String) {
        let (certificate, request) = (scratch.file("\(name).pem"), scratch.file("\(name).csr"))
        let key = try await key(name, curve: "P-256")
        try await run([
            "req", "-new", "-key", key, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out",
            request,
        ])
        try await sign(request, with: key, days: days, to: certificate)
        return (certificate, key)
    }

    /// A private key on a curve, in PKCS#8.
    func key(_ name: String, curve: String) async throws -> String {
        let out = scratch.file("\(name).p8")
        try await run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out", out])
        return out
    }

    private func sign(_ request: String, with key: String, days: Int, to certificate: String) async throws {
        guard days < 0 else {
            return try await run([
                "x509", "-req", "-in", request, "-signkey", key, "-days", "\(days)", "-copy_extensions", "copy",
                "-out", certificate,
            ])
        }
        // `x509 -req` takes no end in the past everywhere; `ca` does.
        let index = try scratch.write("", to: "index-\(UUID().uuidString)")
        let serial = try scratch.write("01\n", to: "serial-\(UUID().uuidString)")
        let configuration = try scratch.write(
            """
            [ca]
            default_ca = own
            [own]
            database = \(index)
            serial = \(serial)
            new_certs_dir = \(scratch.path)
            default_md = sha256
            policy = any
            [any]
            UID = optional
            commonName = supplied

            """, to: "ca-\(UUID().uuidString)")
        try await run([
            "ca", "-batch", "-selfsign", "-config", configuration, "-keyfile", key, "-in", request, "-out", certificate,
            "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-notext",
        ])
    }

    func run(_ arguments: [String]) async throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try await eventually("openssl ends") { !process.isRunning }
        guard process.terminationStatus == 0 else { throw Failed(arguments: arguments) }
    }
}
