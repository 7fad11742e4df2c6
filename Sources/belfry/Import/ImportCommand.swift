import ArgumentParser

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring the devices of another push service over.",
        discussion: "docs/Migration.md says how a service moves in, step by step.",
        subcommands: [ImportDevicesCommand.self, ImportPCFCommand.self])
}
