import ArgumentParser
import BelfryService

struct AudienceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience", abstract: "Count and sample the devices that an expression means.",
        discussion: """
            An expression is such as 'topic:news -topic:sports platform:android lang:de version>=5 attr.plan:pro seen:P30D'. \
            docs/Audiences.md has all of its terms.
            """,
        subcommands: [Count.self, Sample.self, Keys.self])

    struct Count: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Count the devices: exactly within a second, else estimated, with the error.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var question: ExpressionArgument
        @Flag(help: "Estimate at once.") var estimate = false

        func run() async throws {
            var body: JSONObject = ["where": .string(question.text)]
            if estimate { body["estimate"] = .bool(true) }
            try AudienceCount.show(try await options.ask("POST", ["audience", "count"], body), options)
        }
    }

    struct Sample: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List some of the devices.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var question: ExpressionArgument
        @Option(help: "At most this many, 100 at most.") var limit = 10

        func run() async throws {
            let body: JSONObject = ["where": .string(question.text), "limit": .integer(Int64(limit))]
            let reply = try await options.ask("POST", ["audience", "sample"], body)
            try options.show(
                try reply.list("devices"),
                columns: ["device_uuid", "type", "custom_user_id", "device_alias", "registered_at"])
        }
    }

    struct Keys: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys that senders encrypt messages for the devices with.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var question: ExpressionArgument
        @Option(help: "At most this many.") var limit = 100

        func run() async throws {
            var found: [JSONValue] = []
            var cursor: String?
            repeat {
                var body: JSONObject = ["where": .string(question.text)]
                body["limit"] = .integer(Int64(min(max(limit - found.count, 1), EncryptedContent.devicesMax)))
                body["cursor"] = cursor.map(JSONValue.string)
                let reply = try await options.ask("POST", ["encryption-keys"], body)
                found += try reply.list("devices")
                cursor = reply?["next_cursor"]?.stringValue
            } while cursor != nil && found.count < limit
            try options.show(found, columns: ["device_uuid", "type", "p256dh", "auth"])
            if cursor != nil { Notice.show("there may be more: --limit prints more") }
        }
    }
}

/// An expression, with or without the option that pushes have for it.
struct ExpressionArgument: ParsableArguments {
    @Argument(help: "The expression.") var expression: String?
    @Option(name: .customLong("where"), help: "The expression, as `belfry push` has it.") var option: String?

    var text: String { expression ?? option ?? "" }

    func validate() throws {
        guard (expression == nil) != (option == nil) else {
            throw ValidationError("give the expression once, such as 'topic:news lang:de'")
        }
    }
}

enum AudienceCount {
    /// Prints the number, and those of the platforms.
    static func show(_ reply: JSONValue?, _ output: some JSONOption) throws {
        guard let reply, !output.json else { return try output.show(reply) }
        let isExact = reply["is_exact"] == .bool(true)
        let devices = Int(reply["devices"]?.wholeNumber ?? 0).grouped
        let margin = Int(reply["margin"]?.wholeNumber ?? 0).grouped
        print(isExact ? "\(devices) devices" : "about \(devices) devices, give or take \(margin)")
        guard case .array(let platforms)? = reply["platforms"], platforms.count > 1 else { return }
        for platform in platforms {
            print("  \(platform["type"]?.flat ?? "")  \(Int(platform["devices"]?.wholeNumber ?? 0).grouped)")
        }
    }
}
