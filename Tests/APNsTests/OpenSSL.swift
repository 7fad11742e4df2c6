import Foundation

/// Makes certificates and p12 files with the openssl command.
enum OpenSSL {
    enum Parts { case all, certificateOnly, keyOnly, foreignKey, chain }

    struct Failure: Error { let arguments: [String] }

    /// A p12 file with a certificate for `com.example.app` that is valid for ten days.
    static func p12(passphrase: String, encryption: [String] = [], parts: Parts = .all) throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "p12-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try certificate(in: folder, named: "own")
        if parts == .foreignKey || parts == .chain { try certificate(in: folder, named: "other") }
        let out = folder.appending(path: "out.p12")
        var arguments = ["pkcs12", "-export", "-out", out.path, "-passout", "pass:\(passphrase)"] + encryption
        let key = ["-inkey", folder.appending(path: "own.key").path]
        switch parts {
        case .all: arguments += ["-in", folder.appending(path: "own.pem").path] + key
        case .chain:
            arguments += ["-in", folder.appending(path: "own.pem").path] + key
            arguments += ["-certfile", folder.appending(path: "other.pem").path]
        case .certificateOnly: arguments += ["-in", folder.appending(path: "own.pem").path, "-nokeys"]
        case .keyOnly: arguments += key + ["-nocerts"]
        case .foreignKey: arguments += key + ["-nocerts", "-certfile", folder.appending(path: "other.pem").path]
        }
        try run(arguments)
        return Array(try Data(contentsOf: out))
    }

    static func certificate(in folder: URL, named name: String) throws {
        let bundle = name == "own" ? "com.example.app" : "com.example.other"
        try run([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10",
            "-subj", "/UID=\(bundle)/CN=Apple Push Services: \(bundle)",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", folder.appending(path: "\(name).key").path, "-out", folder.appending(path: "\(name).pem").path,
        ])
    }

    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments) }
    }
}
