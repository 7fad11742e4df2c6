import ArgumentParser
import BelfryService
import FoundationEssentials

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "List, show, create, edit, pause and cancel pushes that wait for their time.",
        subcommands: [
            List.self, Show.self, Create.self, Edit.self, Pause.self, Resume.self, SkipNext.self, Cancel.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List schedules.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var list: ListOptions
        @Option(help: "`waiting` or `ended`.") var state: String?

        func run() async throws {
            try await options.list(
                ["schedules"], "schedules",
                columns: ["schedule_id", "state", "due_at"] + (state == "waiting" ? [] : ["receipt_id"])
                    + ["recurrence.words", "body"],
                atMost: list.limit, query: [("state", state)])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a schedule with its message and target.")

        @OptionGroup var options: ScheduleOptions

        func run() async throws { try options.show(try await options.ask("GET")) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a schedule.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var push: ScheduledPushOptions
        @OptionGroup var recurrence: RecurrenceOptions
        @Option(help: "When it is to be sent, such as 2030-01-31T08:30:00Z.") var sendAt: String?

        func validate() throws {
            guard (sendAt == nil) != (recurrence.every == nil) else {
                throw ValidationError("give --send-at, or --every with --start and --time-zone or --local")
            }
            guard push.isAimed else { throw ValidationError("give --topic, --device, --user or --everyone") }
            guard push.saysSomething else { throw ValidationError("give --body or --message") }
        }

        func run() async throws {
            var body = try push.members()
            body.set("send_at", sendAt)
            body["recurrence"] = recurrence.value()
            try options.show(try await options.ask("POST", ["pushes"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a schedule; omitted options keep their values.")

        @OptionGroup var options: ScheduleOptions
        @OptionGroup var push: ScheduledPushOptions
        @OptionGroup var recurrence: RecurrenceOptions
        @Option(help: "When it is to be sent, such as 2030-01-31T08:30:00Z.") var sendAt: String?
        @Flag(help: "Send a recurring one once, at --send-at.") var once = false

        func run() async throws {
            var body = try push.members()
            body.set("send_at", sendAt)
            body["recurrence"] = once ? .null : recurrence.value()
            body = try body.given(by: "an option with what is to change")
            guard let text = push.body else { return try options.show(try await options.ask("PATCH", body)) }
            let edited = try await options.edit { schedule in
                body["message"] = (schedule?["message"] ?? .null).with(("body", text))
                body["template"] = schedule?["template"]
                return body
            }
            try options.show(edited)
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Pause a recurring schedule: it is not sent until it is resumed.")

        @OptionGroup var options: ScheduleOptions

        func run() async throws { try options.show(try await options.ask("POST", then: "pause")) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume a recurring schedule at its next time from now on.")

        @OptionGroup var options: ScheduleOptions

        func run() async throws { try options.show(try await options.ask("POST", then: "resume")) }
    }

    struct SkipNext: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "skip-next", abstract: "Skip the next time of a recurring schedule.")

        @OptionGroup var options: ScheduleOptions

        func run() async throws { try options.show(try await options.ask("POST", then: "skip-next")) }
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
    ///
    /// - Parameter verb: the end of the path, such as pause; nil for the schedule itself.
    func ask(_ method: String, _ body: JSONObject? = nil, then verb: String? = nil) async throws -> JSONValue? {
        try await backend.withBackend { backend in
            let owner = try await owner(backend)
            return try await backend.ask(method, path(of: owner) + (verb.map { "/\($0)" } ?? ""), body)
        }
    }

    /// Changes the schedule by what it is: see `AdminBackend.edit`.
    func edit(_ change: (JSONValue?) throws -> JSONObject) async throws -> JSONValue? {
        try await backend.withBackend { backend in try await backend.edit(path(of: owner(backend)), change) }
    }

    /// Prints the schedule, with its recurrence and its history as fields and lines of their own.
    func show(_ schedule: JSONValue?) throws {
        guard !output.json, case .object(var members)? = schedule else { return try output.show(schedule) }
        for part in ["recurrence", "reminders", "unless_sent"] {
            guard case .object(let own)? = members[part] else { continue }
            members[part] = nil
            for (name, value) in own { members["\(part).\(name)"] = value }
        }
        if case .array(let runs)? = members["history"] {
            members["history"] = .strings(
                runs.map { run in
                    ["due_at", "result", "receipt_id", "reason", "schedule_id", "state"].compactMap {
                        run[$0]?.stringValue
                    }
                    .joined(separator: " ")
                })
        }
        try output.show(.object(members))
    }

    private func path(of app: UUID) -> String { "apps/\(app.lowercased)/schedules/\(id.percentEncoded)" }

    /// Looks through the applications where none is given: an id says nothing of its own.
    private func owner(_ backend: AdminBackend) async throws -> UUID {
        guard Key<Schedule>(id: id) != nil else {
            let advice =
                UUID(uuidString: id) == nil
                ? "" : ": it looks like the id of a receipt, which `belfry receipt` shows and `belfry cancel` cancels"
            throw ValidationError("`\(id)` is not the id of a schedule\(advice)")
        }
        if let app { return app }
        for application in try await backend.applications() {
            guard let uuid = UUID(uuidString: application.app_uuid) else { continue }
            if try await backend.has("GET", path(of: uuid)) { return uuid }
        }
        throw StoreError.unknown("schedule \(id)")
    }
}

/// When a push is sent again and again.
struct RecurrenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Send it again and again: day, week, month, weekdays such as MO,TH, or a rule such as FREQ=MONTHLY;BYDAY=-1FR.",
            valueName: "rule"))
    var every: String?
    @Option(
        help: ArgumentHelp(
            "With --every: the first day, and the time of each, such as 2027-02-01T09:00.", valueName: "local time"))
    var start: String?
    @Option(help: "With --every: the time zone of --start, such as Europe/Vienna.") var timeZone: String?
    @Flag(
        help:
            "With --every: by the clocks of each recipient. --time-zone is that of devices where none is known. [default: UTC]"
    )
    var local = false
    @Option(help: "With --every: a day on which it is not sent, such as 2026-12-24; may be given several times.")
    var except: [String] = []
    @Option(help: "With --every, for times that pass while no server runs: run_once, or skip. [default: run_once]")
    var missed: String?

    func validate() throws {
        let isGiven = start != nil || timeZone != nil || local || !except.isEmpty || missed != nil
        guard every != nil || !isGiven else {
            throw ValidationError("--start, --time-zone, --local, --except and --missed go with --every")
        }
        guard every == nil || start != nil && (timeZone != nil || local) else {
            throw ValidationError("--every needs --start and --time-zone, or --start and --local")
        }
    }

    /// The member of the admin API's push; nil where it is sent once.
    ///
    /// - Parameter past: what devices get whose clocks are past the first time of --local.
    func value(past: String? = nil) -> JSONValue? {
        guard let every else { return nil }
        var members: JSONObject = ["rule": .string(Self.rule(every))]
        members.set("start", start)
        members.set("time_zone", timeZone)
        if local { members["local"] = .bool(true) }
        members.set("past", past)
        members.set("except", except)
        members.set("missed", missed)
        return .object(members)
    }

    private static func rule(_ every: String) -> String {
        switch every.lowercased() {
        case "day": "FREQ=DAILY"
        case "week": "FREQ=WEEKLY"
        case "month": "FREQ=MONTHLY"
        case let days where !days.contains("="): "FREQ=WEEKLY;BYDAY=\(every.uppercased())"
        default: every
        }
    }
}

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
