import ArgumentParser
import BelfryService

struct GeofenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geofence", abstract: "List, show, create, edit and delete geofences.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List geofences.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await options.list(
                ["geofences"], "geofences", columns: ["geofence_id", "trigger", "platform", "phase", "expires_at"],
                atMost: list.limit)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a geofence.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try options.show(try await options.ask("GET", ["geofences", id])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a geofence.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var plan: GeofenceOptions

        func run() async throws { try options.show(try await options.ask("POST", ["geofences"], try plan.members())) }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a geofence; omitted options keep their values.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String
        @OptionGroup var plan: GeofenceOptions

        func run() async throws {
            let change = try plan.members().given(by: "an option with what is to change")
            try options.show(try await options.ask("PATCH", ["geofences", id], change))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a geofence; devices forget it.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try await options.delete(["geofences", id]) }
    }
}

struct GeofenceOptions: ParsableArguments {
    @Option(help: "A location's id; may be given several times.") var location: [Int64] = []
    @Option(help: "A location group's id; may be given several times.") var group: [Int64] = []
    @Option(help: "`enter` or `exit`.") var trigger: String?
    @Option(help: "`all`, `ios`, `android` or `android-fcm`.") var platform: String?
    @Option(help: "Only devices that subscribe to it show it; may be given several times.") var topic: [String] = []
    @Option(
        help: ArgumentHelp("What devices show, such as '{\"ios\": {\"alertBody\": \"Hi\"}}'.", valueName: "json|@file"))
    var data: String?
    @Option(help: "From when devices have it, such as 2030-01-31T08:30:00Z; at once where this is left out.")
    var startsAt: String?
    @Option(help: "Until when devices have it.") var expiresAt: String?

    func members() throws -> JSONObject {
        var members: JSONObject = [:]
        members.set("location_ids", location)
        members.set("location_group_ids", group)
        members.set("trigger", trigger)
        members.set("platform", platform)
        members.set("topics", topic)
        if let data { members["data"] = try JSONValue.argument(data, called: "--data") }
        members.set("starts_at", startsAt)
        members.set("expires_at", expiresAt)
        return members
    }
}
