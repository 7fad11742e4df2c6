import ArgumentParser
import BelfryAPI
import BelfryCore
import FoundationEssentials

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Create, list, show and delete applications.",
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create an application; its secrets are shown once.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The display name.") var name: String

        func run() async throws {
            let created = try await backend.withBackend {
                try await $0.createApplication(name: name)
            }
            if output.json { return try Output.json(created) }
            Output.fields([
                ("app_uuid", created.app_uuid), ("api_key", created.api_key ?? ""),
                ("shared_secret", created.shared_secret ?? ""),
            ])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all applications.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await backend.withBackend { try await $0.applications() }
            if output.json { return try Output.json(rows) }
            Output.table(["app_uuid", "name", "created_at"], rows.map { [$0.app_uuid, $0.name, $0.created_at] })
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an application with its platforms.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID

        func run() async throws {
            let details = try await backend.withBackend { try await $0.application(app) }
            if output.json { return try Output.json(details) }
            let (application, platforms) = (details.application, details.platforms)
            Output.fields([
                ("app_uuid", application.app_uuid), ("name", application.name), ("created_at", application.created_at),
            ])
            guard !platforms.isEmpty else { return }
            print("")
            Output.table(
                ["platform_uuid", "type", "mode", "name", "devices", "state"],
                platforms.map { [$0.platform_uuid, $0.type, $0.mode, $0.name, $0.devices.grouped, $0.stateAndCause] })
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an application; with --force also its platforms, devices and pushes.")

        @OptionGroup var backend: BackendOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID
        @Flag(help: "Delete it although it has platforms.") var force = false

        func run() async throws {
            try await backend.withBackend { try await $0.deleteApplication(app, force: force) }
            print("deleted \(app.lowercased)")
        }
    }
}

extension UUID {
    /// As an argument of a command.
    static func parse(_ text: String) throws -> UUID {
        guard let uuid = UUID(uuidString: text) else { throw ValidationError("`\(text)` is not a UUID") }
        return uuid
    }
}
