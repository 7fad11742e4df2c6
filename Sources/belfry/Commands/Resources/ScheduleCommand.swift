import ArgumentParser
import BelfryAPI
import BelfryService
import FoundationEssentials

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule", abstract: "List, show, create, edit and cancel pushes that wait for their time.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Cancel.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List schedules.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(help: "`waiting` or `ended`.") var state: String?

        func run() async throws {
            try await options.list(
                ["schedules"], "schedules",
                columns: ["schedule_id", "state", "due_at"] + (state == "waiting" ? [] : ["receipt_id"]) + ["body"],
                atMost: list.limit,
                query: [("state", state)])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a schedule with its message and target.")

        @OptionGroup var options: ScheduleOptions

        func run() async throws { try options.output.show(try await options.ask("GET")) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a schedule.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var push: ScheduledPushOptions
        @Option(help: "When it is to be sent, such as 2030-01-31T08:30:00Z.") var sendAt: String

        func validate() throws {
            guard push.isAimed else { throw ValidationError("give --topic, --device, --user or --everyone") }
            guard push.saysSomething else { throw ValidationError("give --body or --message") }
        }

        func run() async throws {
            var body = try push.members()
            body.set("send_at", sendAt)
            try options.show(try await options.ask("POST", ["pushes"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a schedule; what is not given stays as it is.")

        @OptionGroup var options: ScheduleOptions
        @OptionGroup var push: ScheduledPushOptions
        @Option(help: "When it is to be sent, such as 2030-01-31T08:30:00Z.") var sendAt: String?

        func run() async throws {
            var body = try push.members()
            body.set("send_at", sendAt)
            try options.output.show(try await options.ask("PATCH", body))
        }
    }

    struct Cancel: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cancel", abstract: "Cancel a schedule; it is never sent.", aliases: ["delete"])

        @OptionGroup var options: ScheduleOptions

        func run() async throws {
            _ = try await options.ask("DELETE")
            print("cancelled \(options.id)")
        }
    }
}

/// A schedule, and the application that has it.
struct ScheduleOptions: ParsableArguments {
    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Option(help: "The application's UUID. [default: the one that has the schedule]", transform: UUID.parse)
    var app: UUID?
    @Argument(help: "The schedule's id.") var id: String

    /// Asks the admin API about the schedule.
    func ask(_ method: String, _ body: JSONObject? = nil) async throws -> JSONValue? {
        try await backend.withBackend { backend in
            let owner = try await owner(backend)
            return try await backend.ask(method, path(of: owner), body)
        }
    }

    private func path(of app: UUID) -> String { "apps/\(app.lowercased)/schedules/\(id.percentEncoded)" }

    /// Looks through the applications where none is given: an id says nothing of its own.
    private func owner(_ backend: any AdminBackend) async throws -> UUID {
        if let app { return app }
        guard Key<Schedule>(id: id) != nil else {
            let advice =
                UUID(uuidString: id) == nil
                ? "" : ": it looks like the id of a receipt, which `belfry receipt` shows and `belfry cancel` cancels"
            throw ValidationError("`\(id)` is not the id of a schedule\(advice)")
        }
        for application in try await backend.applications() {
            guard let uuid = UUID(uuidString: application.app_uuid) else { continue }
            if try await backend.has("GET", path(of: uuid)) { return uuid }
        }
        throw StoreError.unknown("schedule \(id)")
    }
}

/// The content and the target of a schedule.
struct ScheduledPushOptions: ParsableArguments {
    @Option(help: "The text.") var body: String?
    @Option(help: ArgumentHelp("`message` of the admin API, in place of --body.", valueName: "json|@file"))
    var message: String?
    @Option(help: "A topic; may be given several times.") var topic: [String] = []
    @Option(help: "A custom user id; may be given several times.") var user: [String] = []
    @Option(help: "A device's UUID; may be given several times.") var device: [String] = []
    @Flag(help: "Every device of the application.") var everyone = false
    @Option(help: "urgent, normal or bulk.") var urgency: String?
    @Option(help: "When it is worth nothing any more.") var expiresAt: String?

    var isAimed: Bool { everyone || !topic.isEmpty || !user.isEmpty || !device.isEmpty }
    var saysSomething: Bool { body != nil || message != nil }

    /// The members of a push of the admin API that were given.
    func members() throws -> JSONObject {
        guard body == nil || message == nil else { throw ValidationError("give --body or --message, not both") }
        var members: JSONObject = [:]
        if let body { members["message"] = .object(["body": .string(body)]) }
        if let message { members["message"] = try JSONValue.argument(message, called: "--message") }
        if isAimed {
            var target: JSONObject = everyone ? ["everyone": .bool(true)] : [:]
            target.set("topics", topic)
            target.set("custom_user_ids", user)
            target.set("devices", device)
            members["target"] = .object(target)
        }
        members.set("urgency", urgency)
        members.set("expires_at", expiresAt)
        return members
    }
}
