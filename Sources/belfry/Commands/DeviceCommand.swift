import ArgumentParser
import BelfryService
import FoundationEssentials

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "List, show, create, edit, deactivate and erase devices.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self, Erase.self])

    private static let columns = ["device_uuid", "type", "active", "custom_user_id", "device_alias", "topics"]

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List devices.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(name: .customShort("q"), help: "A part of the UUID, token, custom user id or alias.") var search:
            String?
        @Option(help: "Only subscribers of this topic.") var topic: String?
        @Option(help: "Only devices of this platform.") var platform: String?
        @Option(help: "Only devices of this custom user id.") var user: String?
        @Flag(inversion: .prefixedNo, help: "Only active or only inactive devices.") var active: Bool?
        @Option(help: ArgumentHelp("Only devices that last registered then or later.", valueName: "time"))
        var seenFrom: String?
        @Option(help: ArgumentHelp("Only devices that last registered before then.", valueName: "time"))
        var seenBefore: String?
        @Option(help: "Only devices with this system version: 17 finds 17.2 too.") var osVersion: String?
        @Flag(help: "Only imported devices that have not registered since.") var unseen = false

        func run() async throws {
            try await options.list(
                ["devices"], "devices", columns: DeviceCommand.columns, atMost: list.limit,
                query: [
                    ("q", search), ("topic", topic), ("platform_uuid", platform), ("custom_user_id", user),
                    ("active", active.map(String.init)), ("seen_from", seenFrom), ("seen_before", seenBefore),
                    ("os_version", osVersion), ("unseen", unseen ? "true" : nil),
                ])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a device.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The device's UUID.", transform: UUID.parse) var device: UUID

        func run() async throws { try options.show(try await options.ask("GET", ["devices", device.lowercased])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Register a device as its app would.")

        @OptionGroup var options: ResourceOptions
        @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
        @Option(help: "The token that the provider knows it by.") var token: String
        @Option(help: "A topic; may be given several times.") var topic: [String] = []
        @Option(help: "The custom user id.") var user: String?
        @Option(help: "The alias.") var alias: String?
        @Option(help: "The version of its system.") var osVersion: String?

        func run() async throws {
            var body: JSONObject = [
                "platform_uuid": .string(platform.lowercased), "registration_token": .string(token),
            ]
            body.set("topics", topic)
            body.set("custom_user_id", user)
            body.set("device_alias", alias)
            body.set("os_version", osVersion)
            let made = try await options.ask("POST", ["devices"], body)
            if let kind = made?["type"]?.stringValue.flatMap(PlatformKind.init(rawValue:)),
                let bytes = try? DeviceToken(token, for: kind).missingBytes(for: kind)
            {
                Notice.show("--token is \(bytes.found) bytes, tokens of APNs have \(bytes.usual) so far")
            }
            try options.show(made)
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change a device.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The device's UUID.", transform: UUID.parse) var device: UUID
        @Option(help: "A topic to subscribe to; may be given several times.") var subscribe: [String] = []
        @Option(help: "A topic to unsubscribe from; may be given several times.") var unsubscribe: [String] = []
        @Option(help: "The custom user id; \"\" for none.") var user: String?
        @Option(help: "The alias; \"\" for none.") var alias: String?

        func run() async throws {
            var body: JSONObject = [:]
            body.set("subscribe", subscribe)
            body.set("unsubscribe", unsubscribe)
            body.set("custom_user_id", user)
            body.set("device_alias", alias)
            let change = try body.given(by: "--subscribe, --unsubscribe, --user or --alias")
            try options.show(try await options.ask("PATCH", ["devices", device.lowercased], change))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deactivate a device. It keeps its UUID, and comes back when its app registers again.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The device's UUID.", transform: UUID.parse) var device: UUID

        func run() async throws {
            _ = try await options.ask("POST", ["devices", device.lowercased, "deactivate"])
            print("deactivated \(device.lowercased)")
        }
    }

    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a device with all its data.",
            discussion:
                "Its app may register again. `belfry user erase` forgets a user, and deactivates the user's devices.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The device's UUID.", transform: UUID.parse) var device: UUID

        func run() async throws {
            _ = try await options.ask("DELETE", ["devices", device.lowercased])
            print("erased \(device.lowercased)")
        }
    }
}
