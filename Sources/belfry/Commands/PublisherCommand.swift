import ArgumentParser
import BelfryService

struct PublisherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publisher",
        abstract: "Take messages for ntfy, Gotify, Apprise, Alertmanager and Grafana: docs/Publishers.md.",
        subcommands: [Enable.self, List.self, Disable.self])

    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case ntfy, gotify, apprise, alerts

        func path(_ key: String) -> String { self == .gotify ? "/gotify/\(key)/message" : "/\(rawValue)/\(key)" }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open a path for publishers; its key is shown once.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The server that the publisher was written for: ntfy, gotify, apprise or alerts.") var kind:
            Kind
        @Option(help: "The topic whose devices get the messages; messages for ntfy name their own.") var topic: String?
        @Flag(help: "Send to all devices of the application.") var everyone = false
        @Option(help: "A saved template that makes the text of alerts and of Apprise's messages.") var template: String?
        @Option(help: ArgumentHelp("Serve callers of this network alone. Can be repeated.", valueName: "10.0.0.0/8"))
        var allow: [String] = []

        func run() async throws {
            var choices: JSONObject = [:]
            choices["topic"] = topic.map(JSONValue.string)
            choices["template"] = template.map(JSONValue.string)
            if everyone { choices["everyone"] = .string("true") }
            var body: JSONObject = ["kind": .string(kind.rawValue), "options": .object(choices)]
            body.set("allowed", allow)
            guard let made = try await options.ask("POST", ["open-endpoints"], body), let key = made["key"]?.stringValue
            else { return }
            try options.show(
                .object([
                    "endpoint_id": made["endpoint_id"] ?? .null, "key": .string(key), "path": .string(kind.path(key)),
                ]))
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the paths for publishers.")

        @OptionGroup var options: ResourceOptions

        func run() async throws { try await options.listOpenEndpoints { Kind(rawValue: $0) != nil } }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Close a path for publishers.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its endpoint_id, as `publisher list` tells it.") var id: String

        func run() async throws { try await options.delete(["open-endpoints", id]) }
    }
}
