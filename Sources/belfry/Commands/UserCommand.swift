import ArgumentParser
import BelfryService

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "List, show, set, merge and erase the users of an application.",
        subcommands: [List.self, Show.self, Set.self, Merge.self, Erase.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List users with a profile, and user ids that only devices have.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(name: .customShort("q"), help: "A part of the id; case matters.") var search: String?

        func run() async throws {
            try await options.list(
                ["users"], "users", columns: ["user_id", "language", "time_zone", "attributes", "updated_at"],
                atMost: list.limit, query: [("q", search)])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a user, with its active devices.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try options.show(try await options.ask("GET", ["users", id])) }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create or change a user; omitted options keep their values.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String
        @Option(help: "A language tag, such as de-AT; empty removes it.") var language: String?
        @Option(help: "A time zone, such as Europe/Vienna; empty removes it.") var timeZone: String?
        @Option(
            name: .customLong("attribute"),
            help: ArgumentHelp(
                "NAME=VALUE, where a value that is JSON is taken as such; null removes the attribute. Can be repeated.",
                valueName: "name=value"))
        var attributes: [String] = []

        func run() async throws {
            var members: JSONObject = [:]
            members["language"] = language.map { $0.isEmpty ? .null : .string($0) }
            members["time_zone"] = timeZone.map { $0.isEmpty ? .null : .string($0) }
            if !attributes.isEmpty { members["attributes"] = .object(try Self.members(attributes)) }
            try options.show(try await options.ask("PATCH", ["users", id], members))
        }

        private static func members(_ texts: [String]) throws -> JSONObject {
            var members: JSONObject = [:]
            for text in texts {
                let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw ValidationError("--attribute takes NAME=VALUE, not \(text)")
                }
                members[parts[0]] = (try? JSONValue(json: parts[1].utf8)) ?? .string(parts[1])
            }
            return members
        }
    }

    struct Merge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make two users one: the first one's devices become the other's.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The id of the user that goes.") var id: String
        @Option(help: "The id of the user that stays.") var into: String

        func run() async throws {
            try options.show(try await options.ask("POST", ["users", id, "merge"], ["into": .string(into)]))
        }
    }

    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user with all that is known of it, and deactivate its devices.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try await options.delete(["users", id]) }
    }
}
