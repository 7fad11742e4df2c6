import ArgumentParser
import BelfryService
import FoundationEssentials

struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Make, list, show and delete broadcast channels for Live Activities.",
        discussion: """
            Channels are kept by APNs, for platforms of type ios-broadcast. `belfry push --channel` sends to them.
            """,
        subcommands: [Create.self, List.self, Show.self, Delete.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Make a channel.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Option(
            help: "What it stores for devices that cannot be reached: nothing or latest. It cannot be changed later.")
        var storage: String

        func run() async throws {
            let channel: Admin.ChannelReply = try await backend.withBackend {
                try await $0.platform(platform).answer("POST", "/channels", ["storage": .string(storage)])
            }
            if output.json { return try Output.json(channel) }
            Output.fields([
                ("channel_id", channel.channel_id), ("storage", channel.storage),
                ("device_uuid", channel.device_uuid ?? ""),
            ])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all channels that APNs has.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID

        func run() async throws {
            let reply: Admin.ChannelsReply = try await backend.withBackend {
                try await $0.platform(platform).answer("GET", "/channels")
            }
            if output.json { return try Output.json(reply.channels) }
            for channel in reply.channels { print(channel) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a channel.")

        @OptionGroup var backend: BackendOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Argument(help: "The channel's id.") var channel: String

        func run() async throws {
            let row: Admin.ChannelReply = try await backend.withBackend {
                try await $0.platform(platform).answer("GET", "/" + ["channels", channel].path())
            }
            try output.show(row, [("channel_id", row.channel_id), ("storage", row.storage)])
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a channel, for good.")

        @OptionGroup var backend: BackendOptions
        @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Argument(help: "The channel's id.") var channel: String

        func run() async throws {
            try await backend.withBackend {
                try await $0.platform(platform).ask("DELETE", "/" + ["channels", channel].path())
            }
            print("deleted \(channel)")
        }
    }
}
