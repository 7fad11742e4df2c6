import ArgumentParser
import BelfryService

struct SegmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "segment", abstract: "List, show, save, edit and delete named audience expressions.",
        discussion: "A segment is used in other expressions as segment:NAME. docs/Audiences.md has all terms.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List segments.")

        @OptionGroup var options: ResourceOptions

        func run() async throws {
            try await options.listAll(["segments"], "segments", columns: ["name", "version", "where"])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a segment with its versions, daily sizes and what uses it.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("GET", ["segments", name])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Save an expression under a name.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String
        @Argument(help: "The expression.") var expression: String

        func run() async throws {
            let body: JSONObject = ["name": .string(name), "where": .string(expression)]
            try options.show(try await options.ask("POST", ["segments"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Replace the expression of a segment.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String
        @Argument(help: "The expression.") var expression: String

        func run() async throws {
            try options.show(try await options.ask("PATCH", ["segments", name], ["where": .string(expression)]))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a segment that nothing uses.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try await options.delete(["segments", name]) }
    }
}
