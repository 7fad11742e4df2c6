import ArgumentParser
import BelfryServer
import BelfryService
import Foundation

/// The server that a command works on: the one whose data is on this machine, unless `--server` names another.
struct BackendOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "A server elsewhere, by its admin API. Also BELFRY_SERVER. [default: the data on this machine]",
            valueName: "url"))
    var server: String?

    @Option(
        help: ArgumentHelp(
            "A file that holds the admin key for --server; - is standard input. [default: BELFRY_ADMIN_KEY]",
            valueName: "file"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "Certificates in PEM to trust for --server instead of the system's. Also SSL_CERT_FILE.", valueName: "file")
    )
    var caFile: String?

    func validate() throws {
        guard common.dataDirectory == nil || server == nil else {
            throw ValidationError("give --server or --data-directory, not both")
        }
    }

    func withBackend<Value>(
        _ body: (any AdminBackend) async throws -> Value
    ) async throws -> Value {
        let environment = ProcessInfo.processInfo.environment
        let variable = environment["BELFRY_SERVER"].flatMap { $0.isEmpty ? nil : $0 }
        let named = common.dataDirectory == nil ? variable : nil
        guard let server = server ?? named else {
            return try await common.withResources { resources in
                try await body(
                    LocalBackend(service: resources.operatorService, absence: { try await resources.serverAbsence() }))
            }
        }
        let client = try AdminClient(
            server: server, key: try adminKey(environment), caFile: caFile ?? environment["SSL_CERT_FILE"])
        let result = await Swift.Result { try await body(RemoteBackend(client: client)) }
        try await client.shutdown()
        return try result.get()
    }

    private func adminKey(_ environment: [String: String]) throws -> String {
        if let keyFile { return try SecretFile.contents(of: keyFile, for: "--key-file") }
        guard let key = environment["BELFRY_ADMIN_KEY"] else {
            throw ValidationError("--server needs an admin key: --key-file or BELFRY_ADMIN_KEY")
        }
        return key.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
