import BelfryServer
import BelfrySimulators
import Foundation

/// Files that a simulator writes and reads again at its next start, so that what platforms were given stays true.
enum SimulatorFiles {
    /// The authority of an earlier start, or a new one; its key stands beside it, readable by its owner alone.
    static func authority(at path: String?) throws -> CertificateAuthority {
        guard let path else { return try CertificateAuthority() }
        if let certificate = contents(of: path), let key = contents(of: path + ".key"),
            let kept = CertificateAuthority(certificatePEM: certificate, privateKeyPEM: key)
        {
            return kept
        }
        let made = try CertificateAuthority()
        try write(made.privateKeyPEM + "\n", to: path + ".key")
        try write(made.certificatePEM, to: path, isSecret: false)
        return made
    }

    /// nil where there is no such file yet.
    static func contents(of path: String?) -> String? {
        path.flatMap { FileManager.default.contents(atPath: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes a file, for its owner alone unless it is there with another mode.
    ///
    /// - Parameter isSecret: for its owner alone, whatever is there.
    static func write(_ text: String, to path: String, isSecret: Bool = true) throws {
        try Data(text.utf8).replace(path, isPrivate: isSecret)
    }

    /// The command that makes a platform for the simulator, to be pasted into a shell.
    ///
    /// - Parameters:
    ///   - options: and their values.
    ///   - credentials: names and values.
    static func creation(
        of type: String, name: String, options: [(String, String)] = [], credentials: [(String, String)] = []
    ) -> String {
        let options = [("type", type), ("mode", "development"), ("name", name)] + options
        let words =
            options.map { "--\($0) \(quoted($1))" } + credentials.map { "--credential \(quoted("\($0)=\($1)"))" }
        return (["belfry platform create --app $APP"] + words).joined(separator: " ")
    }

    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "-._/:=@,+%".utf8.contains(byte)
            }
        }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }
}
