import ArgumentParser
import BelfryService

struct TemplateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "template", abstract: "List, show, save, edit, delete and preview saved messages.",
        discussion: """
            A template is sent by `belfry push --from-template NAME`, and NAME@3 is its third version. Its placeholders may have values of each \
            push, such as {{ values.count }}. docs/Pushing.md, "Saved templates", leads through it.
            """,
        subcommands: [List.self, Show.self, Create.self, Edit.self, Delete.self, Preview.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List templates.")

        @OptionGroup var options: ResourceOptions

        func run() async throws {
            try await options.listAll(["templates"], "templates", columns: ["name", "version", "updated_at"])
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a template with its message, its values, its versions and what uses it.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try options.show(try await options.ask("GET", ["templates", name])) }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Save a message under a name.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var message: TemplateMessage
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            let body: JSONObject = ["name": .string(name), "message": try message.value()]
            try options.show(try await options.ask("POST", ["templates"], body))
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the message of a template, which makes a new version.")

        @OptionGroup var options: ResourceOptions
        @OptionGroup var message: TemplateMessage
        @Argument(help: "Its name.") var name: String

        func run() async throws {
            try options.show(try await options.ask("PATCH", ["templates", name], ["message": try message.value()]))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a template that no waiting schedule uses.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name.") var name: String

        func run() async throws { try await options.delete(["templates", name]) }
    }

    struct Preview: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a template with the values of some devices, as each platform gets it.")

        @OptionGroup var options: ResourceOptions
        @Argument(help: "Its name, or NAME@3 for a version.") var name: String
        @Option(name: .customLong("where"), help: "The devices. [default: everyone]") var expression: String?
        @Option(help: ArgumentHelp("Values of placeholders, as `belfry push` has them.", valueName: "json|@file"))
        var values: String?
        @Option(help: "At most so many devices, 20 at most.") var limit = 5

        func run() async throws {
            let reference = try TemplateReference(name, field: "name")
            var body: JSONObject = ["limit": .integer(Int64(limit))]
            body["version"] = reference.version.map(JSONValue.integer)
            body["where"] = expression.map(JSONValue.string)
            if let values { body["message"] = .object(["values": try JSONValue.argument(values, called: "--values")]) }
            let reply = try await options.ask("POST", ["templates", reference.name, "preview"], body)
            guard !options.json, case .array(let devices)? = reply?["devices"] else { return try options.show(reply) }
            try options.show(devices, columns: ["device_uuid", "type", "title", "body"])
        }
    }
}

/// A message in JSON, or the fields that most have.
struct TemplateMessage: ParsableArguments {
    @Option(help: ArgumentHelp("The whole message, as the admin API takes it.", valueName: "json|@file"))
    var message: String?
    @Option(help: "The title.") var title: String?
    @Option(help: "The text.") var body: String?
    @Option(help: ArgumentHelp("What a tap opens.", valueName: "url")) var link: String?
    @Option(help: ArgumentHelp("The language of the texts.", valueName: "tag")) var language: String?
    @Option(help: ArgumentHelp("Texts in other languages.", valueName: "json|@file")) var translations: String?
    @Flag(help: "The texts have placeholders such as {{ values.count }}.") var template = false

    func validate() throws {
        guard message != nil || title != nil || body != nil else {
            throw ValidationError("give --title or --body, or --message with the whole message")
        }
    }

    /// Options go before the fields of the JSON.
    func value() throws -> JSONValue {
        var members = try message.map { try JSONObject.argument($0, called: "--message") } ?? [:]
        for (name, text) in [("title", title), ("body", body), ("link", link), ("language", language)] {
            if let text { members[name] = .string(text) }
        }
        if let translations { members["translations"] = try JSONValue.argument(translations, called: "--translations") }
        if template { members["template"] = .bool(true) }
        return .object(members)
    }
}
