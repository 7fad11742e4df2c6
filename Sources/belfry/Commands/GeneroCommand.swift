import ArgumentParser
import BelfryService

struct GeneroCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "genero", abstract: "Be the token maintainer of Genero's apps: docs/compatibility/genero.md.",
        subcommands: [Enable.self, Disable.self, Tokens.self])

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let apps of Genero register with an application; the key in the path is shown once.")

        @OptionGroup var options: ResourceOptions
        @Option(help: ArgumentHelp("Serve callers of this network alone. Can be repeated.", valueName: "10.0.0.0/8"))
        var allow: [String] = []
        @Flag(help: "Answer 0 where a token that is unregistered is not known, not -3 as the original.")
        var lenientUnregister = false

        func run() async throws {
            var body: JSONObject = ["kind": .string("genero")]
            body.set("allowed", allow)
            if lenientUnregister { body["options"] = .object(["unregister_unknown": .string("0")]) }
            guard let key = try await options.ask("POST", ["open-endpoints"], body)?["key"]?.stringValue else { return }
            try options.show(.object(["key": .string(key), "path": .string("/genero/\(key)/token_maintainer")]))
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close all paths for Genero's apps of an application; its devices stay.")

        @OptionGroup var options: ResourceOptions

        func run() async throws {
            let all = try await options.ask("GET", ["open-endpoints"]).list("open_endpoints")
            for endpoint in all where endpoint["kind"]?.stringValue == "genero" {
                guard case .integer(let id)? = endpoint["endpoint_id"] else { continue }
                try await options.delete(["open-endpoints", String(id)])
            }
        }
    }

    struct Tokens: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the tokens with the columns that the original's table has.")

        private static let columns = [
            "id", "notification_type", "registration_token", "badge_number", "app_user", "reg_date",
        ]

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Flag(help: "Print all of them, as a table of comma-separated values.") var csv = false

        func run() async throws {
            guard csv else {
                return try await options.list(["genero-tokens"], "tokens", columns: Self.columns, atMost: list.limit)
            }
            print(Self.columns.joined(separator: ","))
            var cursor: String?
            repeat {
                let reply = try await options.ask(
                    "GET", ["genero-tokens"], query: [("limit", "200"), ("cursor", cursor)])
                for row in try reply.list("tokens") {
                    print(Self.columns.map { (row[$0] ?? .null).flat.withoutFormula.csv }.joined(separator: ","))
                }
                cursor = reply?["next_cursor"]?.stringValue
            } while cursor != nil
        }
    }
}
