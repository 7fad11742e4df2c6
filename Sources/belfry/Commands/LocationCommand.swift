import ArgumentParser
import BelfryService

struct LocationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "location", abstract: "List, show, create, edit and delete locations.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List locations.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(name: .customShort("q"), help: "A part of the name.") var search: String?

        func run() async throws {
            try await options.list(
                ["locations"], "locations", columns: ["location_id", "name", "latitude", "longitude", "radius"],
                atMost: list.limit, query: [("q", search)])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a location.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try options.show(try await options.ask("GET", ["locations", id])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a location.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var place: PlaceOptions

        func run() async throws {
            try options.show(try await options.ask("POST", ["locations"], try place.members()))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a location, and so the geofences around it; omitted options keep their values.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String
        @OptionGroup var place: PlaceOptions

        func run() async throws {
            let change = try place.members().given(by: "--name, --latitude, --longitude or --radius")
            try options.show(try await options.ask("PATCH", ["locations", id], change))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a location that nothing uses.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try await options.delete(["locations", id]) }
    }
}

struct PlaceOptions: ParsableArguments {
    @Option(help: "The display name.") var name: String?
    @Option(parsing: .unconditional, help: "In degrees.") var latitude: Double?
    @Option(parsing: .unconditional, help: "In degrees.") var longitude: Double?
    @Option(help: "In metres.") var radius: Double?

    func members() throws -> JSONObject {
        var members: JSONObject = [:]
        members.set("name", name)
        try members.set("latitude", latitude)
        try members.set("longitude", longitude)
        try members.set("radius", radius)
        return members
    }
}
