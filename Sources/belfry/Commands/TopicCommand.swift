import ArgumentParser
import BelfryService

struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "List, show, create, edit and delete topics.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List topics.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(name: .customShort("q"), help: "A part of the name.") var search: String?

        func run() async throws {
            try await options.list(
                ["topics"], "topics", columns: ["name", "expires_at"], atMost: list.limit, query: [("q", search)])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a topic.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("GET", ["topics", name])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a topic; one that is there stays as it is.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String
        @Option(help: "When it is to go, such as 2030-01-31T08:30:00Z.") var expiresAt: String?

        func run() async throws {
            var body: JSONObject = ["name": .string(name)]
            body.set("expires_at", expiresAt)
            try options.show(try await options.ask("POST", ["topics"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change when a topic expires.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String
        @Option(help: "When it is to go, such as 2030-01-31T08:30:00Z; never where this is left out.") var expiresAt:
            String?

        func run() async throws {
            let body: JSONObject = ["expires_at": expiresAt.map(JSONValue.string) ?? .null]
            try options.show(try await options.ask("PATCH", ["topics", name], body))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a topic; its devices are unsubscribed.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try await options.delete(["topics", name]) }
    }
}
