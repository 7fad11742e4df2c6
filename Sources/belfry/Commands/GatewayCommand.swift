import ArgumentParser
import BelfryGateway
import BelfryServer
import BelfryService
import Foundation

struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Let servers in that give device tokens: docs/Gateways.md; and senders of Apple's binary protocol.",
        subcommands: [Open.self, Listing.self, Close.self, Credential.self])

    struct Credential: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make, list and revoke the client certificates of senders.",
            subcommands: [Create.self, List.self, Delete.self])
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a client certificate that chooses a platform, or enter the fingerprint of one.")

        @OptionGroup var options: GatewayOptions
        @Option(help: ArgumentHelp("Write the certificate and its key here, as PKCS #12.", valueName: "file.p12"))
        var out: String?
        @Option(
            help: ArgumentHelp("A file with the passphrase of the PKCS #12; - is standard input.", valueName: "file"))
        var passphraseFile: String?
        @Option(
            help: ArgumentHelp(
                "The SHA-256 of a certificate that a sender already has. For operators.", valueName: "hex"))
        var fingerprint: String?
        @Option(help: "For how many days the certificate is valid.") var days = 3_650

        func validate() throws {
            guard (fingerprint == nil) == (out != nil), (out != nil) == (passphraseFile != nil) else {
                throw ValidationError("give --out and --passphrase-file, or --fingerprint")
            }
            guard 1...36_500 ~= days else { throw ValidationError("--days has to be 1 to 36500") }
        }

        func run() async throws {
            var body: JSONObject = [:]
            body.set("fingerprint", fingerprint)
            if let out, let passphraseFile {
                let made = try ClientCertificate(
                    name: "Belfry gateway \(options.platform.uuidString.lowercased())",
                    validity: .seconds(days * 86_400))
                let passphrase = try SecretFile.contents(of: passphraseFile, for: "--passphrase-file")
                guard !passphrase.isEmpty else { throw ValidationError("\(passphraseFile) holds no passphrase") }
                try Data(try made.p12(passphrase: passphrase)).write(
                    to: URL(filePath: out), options: .withoutOverwriting)
                body["fingerprint"] = .string(made.fingerprint.hex)
                let proof = try made.signature(of: CertificateProof.text(for: options.platform))
                body["certificate"] = .string(Data(made.certificate).base64EncodedString())
                body["proof"] = .string(Data(proof).base64EncodedString())
                body["expires_at"] = .string(
                    Instant(milliseconds: Int64(made.expiresAt.timeIntervalSince1970) * 1_000).text)
            }
            guard let reply = try await options.ask("POST", nil, body) else { return }
            try options.show(
                .object(["fingerprint": reply["fingerprint"] ?? .null, "expires_at": reply["expires_at"] ?? .null]))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the client certificates of a platform.")

        @OptionGroup var options: GatewayOptions

        func run() async throws {
            let rows = try await options.ask("GET", nil).list("gateway_credentials")
            if options.output.json { return try Output.json(JSONValue.array(rows)) }
            let columns = ["credential_id", "fingerprint", "expires_at", "created_at"]
            Output.table(columns, rows.map { row in columns.map { (row[$0] ?? .null).flat } })
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke a client certificate.")

        @OptionGroup var options: GatewayOptions
        @Argument(help: "Its id.") var id: Int

        func run() async throws {
            _ = try await options.ask("DELETE", id)
            print("deleted \(id)")
        }
    }
}

/// The platform whose client certificates a command works on.
struct GatewayOptions: ParsableArguments {
    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

    func ask(_ method: String, _ credential: Int?, _ body: JSONObject? = nil) async throws -> JSONValue? {
        let path = "platforms/\(platform.lowercased)/gateway-credentials" + (credential.map { "/\($0)" } ?? "")
        return try await backend.withBackend { try await $0.ask(method, path, body) }
    }

    func show(_ thing: JSONValue) throws {
        guard case .object(let members) = thing else { return }
        if output.json { return try Output.json(thing) }
        Output.fields(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.flat) })
    }
}
