import ArgumentParser
import BelfryServer
import Foundation

@main
enum Main {
    static func main() async {
        // Files that this program creates, databases, keys and backups, are private from their first byte.
        umask(0o077)
        Terminal.flushByLine()
        await Belfry.main()
    }
}

struct Belfry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry",
        abstract: "A self-hosted push notification server.",
        discussion: """
            Start with `belfry demo`, which shows the main job end to end against a simulated provider.
            Every setting can be given by flag, by BELFRY_* variable or in a file: docs/Configuration.md.
            """,
        version: Release.version,
        subcommands: [
            Demo.self, Serve.self, Check.self, Migrate.self, AppCommand.self, PlatformCommand.self,
            ChannelCommand.self, DeviceCommand.self, TopicCommand.self, LocationCommand.self, GeofenceCommand.self,
            PushCommand.self, ScheduleCommand.self, ReceiptCommand.self, WriteOffCommand.self, TenantCommand.self,
            AdminCommand.self, UserCommand.self, AuditCommand.self, AcrobitsCommand.self, CarmaCommand.self,
            GeneroCommand.self, GatewayCommand.self, ImportCommand.self,
            KeysCommand.self, NodesCommand.self, BackupCommand.self, RestoreCommand.self, DatabaseCommand.self,
            Simulate.self,
        ])
}
