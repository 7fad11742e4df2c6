import ArgumentParser
import BelfryService

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "Post events to addresses of your own, or keep them in a feed: docs/Webhooks.md.",
        subcommands: [
            List.self, Create.self, Change.self, Delete.self, Rotate.self, Test.self, Pause.self, Resume.self,
            Replay.self, Deliveries.self, Event.self, Feed.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List webhooks with their states.")

        @OptionGroup var options: ResourceOptions

        func run() async throws {
            try options.show(
                try await options.webhooks(),
                columns: ["name", "state", "url", "pending", "retries", "dropped", "webhook_uuid"])
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add a webhook; its secret is shown once.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var secret: SecretOptions
        @Argument(help: "A name for it.") var name: String
        @Option(help: ArgumentHelp("The address that events are posted to.", valueName: "url")) var url: String
        @Option(help: .kinds) var kinds: String

        func run() async throws {
            var body = try secret.members()
            body["name"] = .string(name)
            body["url"] = .string(url)
            body["kinds"] = .kinds(kinds)
            try options.show(try await options.ask("POST", ["webhooks"], body))
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change a webhook's name, address or events.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption
        @Option(help: "Another name.") var name: String?
        @Option(help: ArgumentHelp("Another address.", valueName: "url")) var url: String?
        @Option(help: .kinds) var kinds: String?

        func run() async throws {
            var body: JSONObject = [:]
            body.set("name", name)
            body.set("url", url)
            body["kinds"] = kinds.map(JSONValue.kinds)
            try options.show(
                try await options.ask(
                    "PATCH", try await webhook.path(options), try body.given(by: "--name, --url or --kinds")))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a webhook.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption

        func run() async throws { try await options.delete(try await webhook.path(options)) }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace a webhook's secret; the former one signs too for a while.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption
        @OptionGroup var secret: SecretOptions
        @Option(help: ArgumentHelp("For how long the former secret signs too. [default: 86400]", valueName: "seconds"))
        var overlap: Int64?

        func run() async throws {
            var body = try secret.members()
            body["overlap_seconds"] = overlap.map(JSONValue.integer)
            try options.show(try await options.ask("POST", try await webhook.path(options, "rotate"), body))
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Post a test event now and print the answer.",
            discussion: "Exits with 0 if the receiver takes it, otherwise with 1.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption

        func run() async throws {
            let reply = try await options.ask("POST", try await webhook.path(options, "test"))
            try options.show(reply)
            guard reply?["delivered"] == .bool(true) else { throw ExitCode.failure }
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Pause a webhook; it keeps its place.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption

        func run() async throws {
            try options.show(try await options.ask("POST", try await webhook.path(options, "pause")))
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Resume a webhook: what waits is sent at once.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption

        func run() async throws {
            try options.show(try await options.ask("POST", try await webhook.path(options, "resume")))
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Send events again that are still kept.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption
        @Option(help: ArgumentHelp("All since then, such as 2026-11-28T06:00:00Z.", valueName: "time")) var since:
            String?
        @Option(help: "An event by its id; may be given several times.") var event: [String] = []

        func validate() throws {
            guard (since == nil) != event.isEmpty else { throw ValidationError("give --since or --event") }
        }

        func run() async throws {
            var body: JSONObject = [:]
            body.set("since", since)
            body.set("events", event)
            try options.show(try await options.ask("POST", try await webhook.path(options, "replay"), body))
        }
    }

    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the attempts of the last day, the newest first.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var webhook: WebhookOption
        @OptionGroup var list: ListOptions

        func run() async throws {
            try await options.list(
                try await webhook.path(options, "deliveries"), "deliveries",
                columns: ["at", "type", "event_id", "attempt", "status", "fault", "milliseconds", "answer"],
                atMost: list.limit)
        }
    }

    struct Event: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show an event as it is posted.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its id, such as evt_17.") var id: String

        func run() async throws { try options.show(try await options.ask("GET", ["feed", id])) }
    }

    struct Feed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keep events for systems that fetch them, and read them.", subcommands: [Set.self, Read.self])

        struct Set: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Choose the events that the feed keeps from now on.")

            @OptionGroup var options: ResourceOptions
            @Option(help: .kinds) var kinds: String

            func run() async throws {
                try options.show(try await options.ask("PUT", ["feed"], ["kinds": .kinds(kinds)]))
            }
        }

        struct Read: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Print events, the oldest first; with --json a line for each.")

            @OptionGroup var options: ResourceOptions
            @Option(help: ArgumentHelp("The cursor of the last event that is known.", valueName: "cursor"))
            var after: String?
            @Option(help: .kinds) var kinds: String?
            @Flag(help: "Go on with what happens.") var follow = false
            @OptionGroup var list: ListOptions

            func run() async throws {
                var (place, isMore, shown) = (after, true, 0)
                while isMore || follow, !StandardStreams.isOutputClosed {
                    // One more than is printed tells whether there are more.
                    let limit = follow ? Self.pageMax : min(list.limit - shown, Self.pageMax - 1) + 1
                    let reply = try await options.ask(
                        "GET", ["feed"],
                        query: [
                            ("after", place), ("kinds", kinds == "*" ? nil : kinds), ("limit", "\(limit)"),
                            ("wait", follow && !isMore ? "20" : nil),
                        ])
                    guard case .array(let events)? = reply?["events"], let next = reply?["next"]?.stringValue else {
                        return
                    }
                    let rest = follow ? events.count : list.limit - shown
                    for event in events.prefix(rest) { show(event) }
                    guard events.count <= rest else { return Notice.cut(at: list.limit) }
                    shown += events.count
                    isMore = next != place
                    place = next
                }
            }

            private static let pageMax = 1_000

            private func show(_ event: JSONValue) {
                if options.json { return print(event.flat) }
                let words = ["cursor", "timestamp", "id", "type", "data"].compactMap { event[$0]?.flat }
                print(words.joined(separator: "  "))
            }
        }
    }

    /// A secret of one's own.
    struct SecretOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "A file with a secret of your own, whsec_ and Base64; - is standard input. [default: a random one]",
                valueName: "file"))
        var secretFile: String?

        func members() throws -> JSONObject {
            var body: JSONObject = [:]
            body.set("secret", try secretFile.map { try SecretFile.contents(of: $0, for: "--secret-file") })
            return body
        }
    }

    struct WebhookOption: ParsableArguments {
        @Argument(help: "The webhook's name or UUID.") var webhook: String

        /// The path of the webhook, and what is below it.
        func path(_ options: ResourceOptions, _ below: String...) async throws -> [String] {
            let all = try await options.webhooks()
            let found = all.filter { [$0["name"]?.stringValue, $0["webhook_uuid"]?.stringValue].contains(webhook) }
            guard let uuid = found.first?["webhook_uuid"]?.stringValue else {
                throw ValidationError("there is no webhook \(webhook); `belfry webhook list` shows those there are")
            }
            guard found.count == 1 else {
                throw ValidationError("\(found.count) webhooks are called \(webhook); give the UUID of one")
            }
            return ["webhooks", uuid] + below
        }
    }
}

extension ResourceOptions {
    fileprivate func webhooks() async throws -> [JSONValue] { try await ask("GET", ["webhooks"]).list("webhooks") }
}

extension ArgumentHelp {
    fileprivate static let kinds = ArgumentHelp("Kinds of events, commas between; '*' for all.", valueName: "kinds")
}

extension JSONValue {
    /// - Parameter text: with commas between.
    fileprivate static func kinds(_ text: String) -> JSONValue {
        .strings(text.split(separator: ",").map(String.init))
    }
}
