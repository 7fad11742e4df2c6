import Foundation

/// Files as the real `openssl` makes them, which shares no code with what reads them.
struct OpenSSLFiles {
    struct Failure: Error { let words: String }

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    static func with<Value>(_ body: (OpenSSLFiles) throws -> Value) throws -> Value {
        let files = try OpenSSLFiles()
        defer { try? FileManager.default.removeItem(at: files.folder) }
        return try body(files)
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }

    func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

    func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: folder.appending(path: name)) }

    @discardableResult func openssl(_ arguments: String...) throws -> String { try openssl(arguments) }

    @discardableResult func openssl(_ arguments: [String]) throws -> String {
        let process = Process()
        let (out, err) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = out
        process.standardError = err
        try process.run()
        let output = out.fileHandleForReading.readDataToEndOfFile()
        let errors = err.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(words: "\(arguments): \(String(decoding: errors, as: UTF8.self))")
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// `own.key` and `own.pem`, with an EC key: it is made at once.
    func makePair(named name: String = "own") throws {
        try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10", "-subj",
            "/UID=com.example.app/CN=Apple Push Services: com.example.app", "-keyout", path("\(name).key"), "-out",
            path("\(name).pem"))
    }

    /// A p12 file of the pair.
    func p12(_ passphrase: String, _ options: String...) throws -> [UInt8] {
        try makePair()
        try openssl(
            [
                "pkcs12", "-export", "-in", path("own.pem"), "-inkey", path("own.key"), "-out", path("own.p12"),
                "-passout",
            ]
                + ["pass:\(passphrase)"] + options)
        return try bytes("own.p12")
    }
}
