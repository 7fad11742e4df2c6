import ArgumentParser
import BelfryService

extension GatewayCommand {
    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open a gateway for a server that gives device tokens; its address is shown once.",
            discussion: "Kinds: \(kinds). See docs/Gateways.md.")
        private static let kinds = OpenEndpoint.Kind.allCases.filter(\.takesTokens).map(\.rawValue).joined(
            separator: ", ")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "The kind, such as matrix.") var kind: String
        @Option(
            help: ArgumentHelp(
                "The platform that a name of the server's means, such as an app id of Matrix. Can be repeated.",
                valueName: "name=uuid"))
        var platform: [String] = []
        @Option(help: ArgumentHelp("Serve callers of this network alone. Can be repeated.", valueName: "10.0.0.0/8"))
        var allow: [String] = []

        func run() async throws {
            guard let kind = OpenEndpoint.Kind(rawValue: kind), kind.takesTokens else {
                throw ValidationError("\(kind) is none of \(Self.kinds)")
            }
            var body: JSONObject = ["kind": .string(kind.rawValue)]
            body.set("allowed", allow)
            var platforms: JSONObject = [:]
            for text in platform {
                guard let end = text.lastIndex(of: "=") else { throw ValidationError("\(text) is not a name=uuid") }
                let name = String(text[..<end])
                guard platforms[name] == nil else { throw ValidationError("--platform names \(name) twice") }
                platforms[name] = .string(String(text[text.index(after: end)...]))
            }
            guard kind != .matrix || !platforms.isEmpty else {
                throw ValidationError("give --platform for each app id, such as --platform im.vector.app.ios=uuid")
            }
            if !platforms.isEmpty { body["options"] = .object(platforms) }
            let made = try await options.ask("POST", ["open-endpoints"], body)
            guard let key = made?["key"]?.stringValue else { return }
            try options.show(
                .object([
                    "endpoint_id": made?["endpoint_id"] ?? .null, "key": .string(key),
                    "path": .string(kind.callerPath(key: key)),
                ]))
        }
    }

    struct Listing: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the gateways for servers that give device tokens.")

        @OptionGroup var options: ResourceOptions

        func run() async throws {
            try await options.listOpenEndpoints { OpenEndpoint.Kind(rawValue: $0)?.takesTokens ?? false }
        }
    }

    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Close a gateway; its devices and pushes stay.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its endpoint_id.") var id: String

        func run() async throws { try await options.delete(["open-endpoints", id]) }
    }
}
