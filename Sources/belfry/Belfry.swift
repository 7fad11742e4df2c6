import ArgumentParser
import BelfryServer
import Foundation

@main
enum Main {
    static func main() async {
        // Files that this program creates, databases, keys and backups, are private from their first byte.
        umask(0o077)
        StandardStreams.open()
        if let fault = DescriptorPlan.fault(ofCommandWith: DescriptorPlan.raiseLimit()) {
            StandardError.write("Error: \(fault)\n")
            exit(1)
        }
        Terminal.flushByLine()
        // Help that is wrapped to a width of 0, as some consoles give it, has no words.
        if let columns = getenv("COLUMNS"), atoi(columns) < 1 { unsetenv("COLUMNS") }
        if let number = StandardStreams.argumentOfOtherText {
            StandardError.write("Error: argument \(number) is not UTF-8\n")
            exit(64)
        }
        var parsed: (any ParsableCommand)?
        do {
            parsed = try Belfry.parseAsRoot()
            if var command = parsed as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try parsed?.run()
            }
            LogQueue.drainStandardError()
            if StandardStreams.isOutputLost {
                StandardError.write(
                    "Error: standard output cannot be written: the command was carried out, but its output is lost\n")
                exit(1)
            }
        } catch {
            end(with: error, of: parsed.map { type(of: $0) })
        }
    }

    /// Prints why it ends, or the help that was asked for, and exits.
    ///
    /// - Parameter command: the one that ran; nil where the arguments name none.
    private static func end(with error: any Error, of command: (any ParsableCommand.Type)?) -> Never {
        var text = Belfry.fullMessage(for: error, columns: Terminal.width)
        if let command, error is ValidationError {
            text = UsageText.replaced(in: text, by: Belfry.usageString(for: command))
        }
        let code = Belfry.exitCode(for: error)
        // Arguments that were not read.
        if command == nil, !code.isSuccess {
            let words = Misspelling.words(in: Array(CommandLine.arguments.dropFirst()), of: Belfry.self)
            if let words { text = Misspelling.replaced(in: text, by: words) }
        }
        text = UsageText.shortened(text)
        LogQueue.drainStandardError()
        if !text.isEmpty { code.isSuccess ? print(text) : StandardError.write("\(text)\n") }
        exit(code.rawValue)
    }
}

struct Belfry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry",
        abstract: "A self-hosted push notification server.",
        discussion: """
            Start with `belfry demo`, which shows the main job end to end against a simulated provider.
            Settings are given by BELFRY_* variable or in a file, most by flag too: docs/Configuration.md.
            """,
        version: Release.version,
        subcommands: [
            Demo.self, Serve.self, Check.self, Migrate.self, AppCommand.self, PlatformCommand.self, ChannelCommand.self,
            DeviceCommand.self, AudienceCommand.self, SegmentCommand.self, TemplateCommand.self, CampaignCommand.self,
            TopicCommand.self, LocationCommand.self, GeofenceCommand.self, PushCommand.self, ScheduleCommand.self,
            ReceiptCommand.self, CancelCommand.self, RetractCommand.self, WriteOffCommand.self, TenantCommand.self,
            AdminCommand.self, UserCommand.self, AuditCommand.self, AcrobitsCommand.self, CarmaCommand.self,
            GeneroCommand.self, PublisherCommand.self, WebhookCommand.self, GatewayCommand.self, ImportCommand.self,
            KeysCommand.self, NodesCommand.self, BackupCommand.self, RestoreCommand.self, DatabaseCommand.self,
            Simulate.self,
        ])
}
