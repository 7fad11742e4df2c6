import ArgumentParser
import CMalloc

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring the devices of another push service over.",
        discussion: "docs/Migration.md says how a service moves in, step by step.",
        subcommands: [ImportDevicesCommand.self, ImportPCFCommand.self])

    /// Limits the arenas of the allocator, so that memory stays flat for any number of rows. Call it before the first row.
    ///
    /// With an arena for each thread, what is freed in one is not used by the others: after 3,900,000 rows 60 of 100 MiB were
    /// free space of twelve arenas.
    static func useFewArenas() { _ = mallopt(M_ARENA_MAX, 2) }
}
