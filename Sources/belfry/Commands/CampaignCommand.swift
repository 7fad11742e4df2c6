import ArgumentParser
import BelfryService

struct CampaignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "campaign", abstract: "Make, test, approve, start, stop and report campaigns.",
        discussion: """
            A campaign has a message or up to four variants of it, an audience, a time, and one report. The plan is JSON, as the admin API takes \
            it; docs/Campaigns.md leads through it.
            """,
        subcommands: [
            List.self, Show.self, Create.self, Edit.self, Test.self, Approve.self, Start.self, Stop.self, Delete.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List campaigns, the newest first.")

        @OptionGroup var options: ResourceOptions
        @Option(help: "Only those with this label.") var label: String?

        func run() async throws {
            let reply = try await options.ask("GET", ["campaigns"], query: label.map { [("label", $0)] } ?? [])
            try options.show(
                try reply.list("campaigns"), columns: ["name", "state", "version", "created_at", "started_at"])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a campaign with its plan, and what each variant has reached.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            let reply = try await options.ask("GET", ["campaigns", name])
            guard !options.json, case .object(let members)? = reply, case .array(let lines)? = members["report"] else {
                return try options.show(reply)
            }
            try options.show(.object(members.filter { $0.key != "report" && $0.key != "plan" }))
            print("")
            let rows = lines.map { line -> JSONValue in
                guard case .object(var row) = line else { return line }
                for name in ["received", "opened"] { row[name] = line[name]?["count"] ?? .null }
                row["opened_rate"] = line["opened"]?["rate"] ?? .null
                return .object(row)
            }
            try options.show(
                rows,
                columns: ["variant", "state", "devices", "accepted", "failed", "received", "opened", "opened_rate"])
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a campaign. Nothing is sent before it is started.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var plan: PlanOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            var body = try plan.members()
            body["name"] = .string(name)
            try options.show(try await options.ask("POST", ["campaigns"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change parts of a campaign that was not started, which ends its approval.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var plan: PlanOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            try options.show(
                try await options.edit(["campaigns", name]) { try plan.members(changing: $0?["plan"]?["message"]) })
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Send each variant to the test audience.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            let reply = try await options.ask("POST", ["campaigns", name, "test"])
            try options.show(try reply.list("pushes"), columns: ["variant", "receipt_id"])
        }
    }

    struct Approve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Approve a campaign that somebody else made.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("POST", ["campaigns", name, "approve"])) }
    }

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Start a campaign.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("POST", ["campaigns", name, "start"])) }
    }

    struct Stop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop a campaign at once, with what is left of its pushes.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("POST", ["campaigns", name, "stop"])) }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a campaign that does not run. Its pushes stay.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try await options.delete(["campaigns", name]) }
    }

    struct PlanOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The plan, or the parts to change.", valueName: "json|@file")) var plan: String?
        @Option(name: .customLong("where"), help: "The audience, in the place of the plan's target.")
        var expression: String?
        @Option(help: "The title, in the place of the plan's.") var title: String?
        @Option(help: "The text, in the place of the plan's.") var body: String?
        @Option(help: "A label; may be given several times.") var label: [String] = []

        func validate() throws {
            guard plan != nil || expression != nil || title != nil || body != nil || !label.isEmpty else {
                throw ValidationError("give --plan, or parts of it by --where, --title, --body and --label")
            }
        }

        /// - Parameter message: the one whose texts are changed where --plan has none; nil for a new one.
        func members(changing message: JSONValue? = nil) throws -> JSONObject {
            var members = try plan.map { try JSONObject.argument($0, called: "--plan") } ?? [:]
            if let expression { members["target"] = .object(["where": .string(expression)]) }
            if title != nil || body != nil {
                members["message"] = (members["message"] ?? message ?? .null).with(("title", title), ("body", body))
            }
            if !label.isEmpty { members["labels"] = .array(label.map(JSONValue.string)) }
            return members
        }
    }
}
