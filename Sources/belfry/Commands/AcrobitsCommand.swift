import ArgumentParser
import BelfryService
import Foundation

struct AcrobitsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "acrobits", abstract: "Serve Acrobits' softphones and the back ends that wake them.",
        discussion: "docs/compatibility/acrobits.md says what to enter where.",
        subcommands: [Reporter.self, AppID.self, Mediator.self, Selector.self])

    // MARK: Reporters

    struct Reporter: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make, list and delete the addresses that softphones report their tokens to.",
            subcommands: [Create.self, List.self, Delete.self])

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Make a reporter; its key is shown once.")

            @OptionGroup var options: ResourceOptions
            @Option(
                help: ArgumentHelp(
                    "The address behind the key, or the body, with the softphone's placeholders; may be given for each. [default: the usual names]",
                    valueName: "text"))
            var template: [String] = []
            @Flag(help: "Ask for HTTP Digest authentication, whose user and password are shown.") var digest = false
            @Option(help: "An address or a network that may report, such as 10.0.0.0/8; all where none is given.")
            var allow: [String] = []

            func run() async throws {
                var body: JSONObject = ["digest": .bool(digest)]
                if !template.isEmpty { body["template"] = .string(template.joined(separator: "\n")) }
                body.set("allowed", allow)
                try options.show(try await options.ask("POST", ["acrobits", "reporters"], body))
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "List reporters and mediators.")

            @OptionGroup var options: ResourceOptions

            func run() async throws { try await options.listOpenEndpoints { $0.hasPrefix("acrobits-") } }
        }

        struct Delete: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Close a reporter; its registrations stay.")

            @OptionGroup var options: ResourceOptions
            @Argument(help: "Its endpoint_id.") var id: String

            func run() async throws { try await options.delete(["open-endpoints", id]) }
        }
    }

    // MARK: App ids

    struct AppID: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "app-id", abstract: "Say which platforms the softphones' app ids stand for.",
            subcommands: [Add.self, List.self, Remove.self])

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Let an app id stand for a platform: one of Apple's, and one of another provider's.")

            @OptionGroup var options: ResourceOptions
            @Option(help: "As the softphone reports it.") var appID: String
            @Option(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
            @Option(help: "Payloads by verb in JSON, or @file; see the manual. [default: the usual ones]")
            var payload: String?

            func run() async throws {
                var body: JSONObject = [
                    "app_id": .string(appID), "platform_uuid": .string(platform.lowercased),
                ]
                if let payload { body["payload"] = try JSONValue.argument(payload, called: "--payload") }
                try options.show(try await options.ask("POST", ["acrobits", "app-ids"], body))
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "List app ids.")

            @OptionGroup var options: ResourceOptions

            func run() async throws {
                try await options.listAll(
                    ["acrobits", "app-ids"], "app_ids", columns: ["app_id", "type", "platform_uuid", "has_payload"])
            }
        }

        struct Remove: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Forget an app id; devices stay.")

            @OptionGroup var options: ResourceOptions
            @Argument(help: "The app id.") var appID: String

            func run() async throws { try await options.delete(["acrobits", "app-ids", appID]) }
        }
    }

    // MARK: Mediator

    struct Mediator: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let back ends send by /pnm2/<key>/send and /pnm2/<key>, or without a key.",
            subcommands: [Enable.self, Disable.self])

        struct Enable: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Serve back ends at some addresses, without other credentials.")

            @OptionGroup var options: ResourceOptions
            @Option(help: "Addresses and networks, such as 10.0.0.0/8, with commas between.") var allow: String
            @Option(help: "The HTTP status where a token is dead: 200 with code 404 in the body, or 404.")
            var deadTokenStatus = 200
            @Flag(
                inversion: .prefixedNo,
                help: "Serve /pnm2/send and /pnm2 too: for operators alone. [default: as an operator]")
            var plainPath: Bool?

            func run() async throws {
                let networks = allow.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
                var body: JSONObject = [
                    "allowed": .strings(networks), "dead_token_status": .integer(Int64(deadTokenStatus)),
                ]
                if let plainPath { body["plain_path"] = .bool(plainPath) }
                try options.show(try await options.ask("POST", ["acrobits", "mediator"], body))
            }
        }

        struct Disable: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Stop serving back ends.")

            @OptionGroup var options: ResourceOptions
            @Argument(help: "Its endpoint_id, as `acrobits reporter list` tells it.") var id: String

            func run() async throws { try await options.delete(["open-endpoints", id]) }
        }
    }

    struct Selector: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the devices of an account on a softphone, by its selector.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The selector.") var selector: String

        func run() async throws { try options.show(try await options.ask("GET", ["acrobits", "selectors", selector])) }
    }
}

extension ResourceOptions {
    /// Prints all things of a list that has no pages.
    func listAll(
        _ path: [String], _ member: String, columns: [String], where isMeant: (JSONValue) -> Bool = { _ in true }
    ) async throws {
        try show(try await ask("GET", path).list(member).filter(isMeant), columns: columns)
    }

    func listOpenEndpoints(where isMeant: (String) -> Bool) async throws {
        try await listAll(
            ["open-endpoints"], "open_endpoints", columns: ["endpoint_id", "kind", "allowed", "created_at"]
        ) { isMeant($0["kind"]?.stringValue ?? "") }
    }
}
