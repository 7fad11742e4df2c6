import ArgumentParser
import BelfryCore

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule", abstract: "List, show, create, edit and cancel pushes that wait for their time.",
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self])

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

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try options.show(try await options.ask("GET", ["schedules", id])) }
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
            push.warn(sendAt: sendAt)
            try options.show(try await options.ask("POST", ["pushes"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a schedule; what is not given stays as it is.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String
        @OptionGroup var push: ScheduledPushOptions
        @Option(help: "When it is to be sent, such as 2030-01-31T08:30:00Z.") var sendAt: String?

        func run() async throws {
            var body = try push.members()
            body.set("send_at", sendAt)
            push.warn(sendAt: sendAt)
            try options.show(try await options.ask("PATCH", ["schedules", id], body))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Cancel a schedule; it is never sent.", aliases: ["cancel"])

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id.") var id: String

        func run() async throws { try await options.delete(["schedules", id], done: "cancelled") }
    }
}

/// What a schedule sends, and to whom.
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

    /// Warns of times that are over.
    func warn(sendAt: String?) {
        PastTime.warn(sendAt, "--send-at", "the push is sent now")
        PastTime.warn(expiresAt, "--expires-at", "no device will get the push")
    }

    /// The members of a push of the admin API that were given.
    func members() throws -> [String: JSONValue] {
        guard body == nil || message == nil else { throw ValidationError("give --body or --message, not both") }
        var members: [String: JSONValue] = [:]
        if let body { members["message"] = .object(["body": .string(body)]) }
        if let message { members["message"] = try JSONValue.argument(message, called: "--message") }
        if isAimed {
            var target: [String: JSONValue] = everyone ? ["everyone": .bool(true)] : [:]
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
