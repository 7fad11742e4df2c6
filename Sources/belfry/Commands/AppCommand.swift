import ArgumentParser
import BelfryCore
import BelfryServer
import Foundation

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Create, list, show and delete applications.",
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create an application; its secrets are shown once.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "What people call it.") var name: String

        func run() async throws {
            let created = try await common.withAdministration { try await $0.createApplication(name: name) }
            let secrets = [
                ("app_uuid", created.application.uuid.lowercased), ("api_key", created.apiKey),
                ("shared_secret", created.sharedSecret),
            ]
            if output.json {
                try Output.json(Dictionary(uniqueKeysWithValues: secrets))
            } else {
                Output.fields(secrets)
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all applications.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let applications = try await common.withAdministration { try await $0.store.applications() }
            let rows = applications.map { ApplicationRow($0) }
            if output.json { return try Output.json(rows) }
            Output.table(["app_uuid", "name", "created_at"], rows.map { [$0.app_uuid, $0.name, $0.created_at] })
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an application with its platforms.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID

        func run() async throws {
            let (application, platforms) = try await common.withAdministration { administration in
                let application = try await administration.application(app)
                var platforms: [PlatformRow] = []
                for platform in try await administration.store.platforms(of: application.key) {
                    let devices = try await administration.store.deviceCount(on: platform.key)
                    platforms.append(PlatformRow(platform, devices: devices))
                }
                return (ApplicationRow(application), platforms)
            }
            if output.json { return try Output.json(ApplicationPage(application: application, platforms: platforms)) }
            Output.fields([
                ("app_uuid", application.app_uuid), ("name", application.name), ("created_at", application.created_at),
            ])
            guard !platforms.isEmpty else { return }
            print("")
            Output.table(
                ["platform_uuid", "type", "mode", "name", "devices", "state"],
                platforms.map { [$0.platform_uuid, $0.type, $0.mode, $0.name, $0.devices.grouped, $0.state] })
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an application; with --force also its platforms, devices and pushes.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The application's UUID.", transform: UUID.parse) var app: UUID
        @Flag(help: "Delete it although it has platforms.") var force = false

        func run() async throws {
            try await common.withAdministration { administration in
                let application = try await administration.application(app)
                try await administration.store.delete(application.key, force: force)
            }
            print("deleted \(app.lowercased)")
        }
    }
}

/// An application as scripts see it.
private struct ApplicationRow: Encodable {
    let app_uuid: String
    let name: String
    let created_at: String

    init(_ application: Application) {
        app_uuid = application.uuid.lowercased
        name = application.name
        created_at = application.createdAt.text
    }
}

private struct ApplicationPage: Encodable {
    let application: ApplicationRow
    let platforms: [PlatformRow]
}

/// A platform as scripts see it.
struct PlatformRow: Encodable {
    let platform_uuid: String
    let type: String
    let mode: String
    let name: String
    let devices: Int
    /// `active`, or `parked: ` and why.
    let state: String

    init(_ platform: Platform, devices: Int) {
        platform_uuid = platform.uuid.lowercased
        type = platform.kind.rawValue
        mode = platform.mode.rawValue
        name = platform.name
        self.devices = devices
        state = platform.parked.map { "parked (\($0.cause)): \($0.detail)" } ?? "active"
    }
}

extension UUID {
    /// As an argument of a command.
    static func parse(_ text: String) throws -> UUID {
        guard let uuid = UUID(uuidString: text) else { throw ValidationError("`\(text)` is no UUID") }
        return uuid
    }
}

extension Instant {
    /// As people read it, in UTC with milliseconds.
    var text: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
