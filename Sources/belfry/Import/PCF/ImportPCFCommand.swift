import ArgumentParser
import BelfryServer
import BelfryService
import Foundation

struct ImportPCFCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcf",
        abstract: "Read a PCF push service: its devices, topics, locations, groups and geofences.",
        discussion: """
            The application and its platforms have to be here already, with the UUIDs they have there: `belfry app create --uuid`, \
            `belfry platform create --uuid`. The old server is only read, while it serves. Tags and custom user ids of devices are \
            told to their platforms alone, so they come with --platform-secrets. An import that was stopped goes on where it was, \
            and may be run again to catch up with what changed there meanwhile.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var run: ImportRunOptions
    @Option(help: ArgumentHelp("The old server's address.", valueName: "https://host")) var from: String
    @Option(help: "The application's UUID, there and here.", transform: UUID.parse) var appUuid: UUID
    @Option(help: ArgumentHelp("A file with the application's API key there.", valueName: "file"))
    var apiKeyFile: String
    @Option(
        help: ArgumentHelp(
            "A file with lines of a platform's UUID, a space, and its secret there.", valueName: "file"))
    var platformSecrets: String?
    @Option(help: ArgumentHelp("Certificates to trust instead of the system's.", valueName: "ca.pem"))
    var trustRoot: String?
    @Flag(help: "Take its schedules over too: only once the old server sends no more, or both send them.")
    var schedules = false

    func run() async throws {
        ImportCommand.useFewArenas()
        let caller = PCFServer.Caller(
            uuid: appUuid, secret: try SecretFile.contents(of: apiKeyFile, for: "--api-key-file"))
        let secrets =
            try platformSecrets.map { try Self.secrets(in: try SecretFile.contents(of: $0, for: "--platform-secrets")) }
            ?? [:]
        let server = try PCFServer(from, trustRoot: trustRoot)
        let result = await Swift.Result {
            try await common.withOperatorService { service in
                let application = try await service.application(appUuid)
                let platforms = try await service.platforms([], of: application)
                for uuid in secrets.keys where !platforms.contains(where: { $0.uuid == uuid }) {
                    throw ValidationError("--platform-secrets has \(uuid.lowercased), which the application here lacks")
                }
                let importService = try await service.beginImport(
                    of: application, to: platforms, from: from, isDryRun: run.dryRun)
                let journal = try run.journal(of: "pcf-\(appUuid.lowercased)", for: "\(appUuid.lowercased) \(from)")
                let contents = PCFContents(
                    server: server, caller: caller, secrets: secrets, service: service, application: application,
                    isDryRun: run.dryRun)
                var counts = try await contents.takeMap()
                var devices = PCFDevices(
                    server: server, caller: caller, secrets: secrets, service: importService, journal: journal,
                    sample: run.sample(of: service, platforms))
                try await devices.take(of: platforms)
                if schedules { counts.schedules = try await contents.takeSchedules() }
                if !run.dryRun, platforms.contains(where: { !$0.hasImports }) { try await service.awaitServers() }
                let tally = journal.state.tally
                try journal.close()
                try run.report(
                    tally, verdicts: journal.verdictsPath, sample: devices.sample, others: counts.fields,
                    json: output.json)
            }
        }
        try await server.shutdown()
        try result.get()
    }

    private static func secrets(in text: String) throws -> [UUID: String] {
        var secrets: [UUID: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split { " ,\t".contains($0) }
            guard parts.count == 2, let uuid = UUID(uuidString: String(parts[0])) else {
                throw ValidationError("--platform-secrets has a line that is no UUID, a space and a secret")
            }
            secrets[uuid] = String(parts[1])
        }
        return secrets
    }
}
