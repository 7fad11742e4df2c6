import ArgumentParser
import BelfryService
import Foundation

struct CarmaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carma", abstract: "Serve apps and back ends that were written for Carma.",
        discussion: "docs/compatibility/carma.md says what to change where.",
        subcommands: [Account.self, App.self, Trigger.self])

    // MARK: Accounts

    struct Account: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make, list, rotate and delete the credentials that apps and back ends have.",
            subcommands: [Create.self, List.self, Rotate.self, Delete.self])

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Take the user and the password of an account; its token is shown once.")

            @OptionGroup var options: CarmaOptions
            @Option(help: "The customer's number.") var customerID: Int64
            @Option(help: "The user.") var user: String
            @Option(help: "A file that holds the password; - is standard input.") var passwordFile: String

            func run() async throws {
                let password = try SecretFile.contents(of: passwordFile, for: "--password-file")
                if let words = CarmaAccount.warning(of: password) { Notice.show(words) }
                let body: JSONObject = [
                    "customer_id": .integer(customerID), "user": .string(user), "password": .string(password),
                ]
                try options.output.show(try await options.ask("POST", "accounts", body))
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "List accounts.")

            @OptionGroup var options: CarmaOptions

            func run() async throws {
                try await options.list("accounts", columns: ["account_id", "customer_id", "user", "created_at"])
            }
        }

        struct Rotate: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Make a new token, and take a new password where one is given.")

            @OptionGroup var options: CarmaOptions
            @Argument(help: "Its account_id.") var id: Int64
            @Option(help: "A file that holds the new password; - is standard input.") var passwordFile: String?

            func run() async throws {
                var body: JSONObject = [:]
                if let passwordFile {
                    let password = try SecretFile.contents(of: passwordFile, for: "--password-file")
                    if let words = CarmaAccount.warning(of: password) { Notice.show(words) }
                    body["password"] = .string(password)
                }
                try options.output.show(try await options.ask("POST", "accounts/\(id)/rotate", body))
            }
        }

        struct Delete: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Delete an account.")

            @OptionGroup var options: CarmaOptions
            @Argument(help: "Its account_id.") var id: Int64

            func run() async throws { try await options.delete("accounts/\(id)") }
        }
    }

    // MARK: Apps

    struct App: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say which application an app of a customer is.",
            subcommands: [Create.self, List.self, Delete.self])

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Let an app of a customer register here.")

            @OptionGroup var options: CarmaOptions
            @Option(help: "The customer's number.") var customerID: Int64
            @Option(help: "The app's id: its bundle id or package name.") var appID: String
            @OptionGroup var application: AppOption

            func run() async throws {
                let app = try await options.backend.withBackend { try await application.uuid(from: $0) }
                let body: JSONObject = [
                    "customer_id": .integer(customerID), "app_id": .string(appID), "app_uuid": .string(app.lowercased),
                ]
                try options.output.show(try await options.ask("POST", "apps", body))
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "List apps.")

            @OptionGroup var options: CarmaOptions

            func run() async throws {
                try await options.list(
                    "apps", columns: ["carma_app_id", "customer_id", "app_id", "list_id", "app_uuid"])
            }
        }

        struct Delete: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Stop registrations of an app and delete its triggers; devices stay.")

            @OptionGroup var options: CarmaOptions
            @Argument(help: "Its carma_app_id.") var id: Int64

            func run() async throws { try await options.delete("apps/\(id)") }
        }
    }

    // MARK: Triggers

    struct Trigger: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make, list and delete messages that back ends send by naming them.",
            subcommands: [Create.self, List.self, Delete.self])

        struct Create: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Make a trigger of a file.")

            @OptionGroup var options: CarmaOptions
            @Option(help: "The customer's number.") var customerID: Int64
            @Option(help: "The app's id.") var appID: String
            @Option(help: "A file with its texts by language, in JSON; see the manual.") var file: String

            func run() async throws {
                let body: JSONObject = [
                    "customer_id": .integer(customerID), "app_id": .string(appID),
                    "template": try JSONValue.argument("@\(file)", called: "--file"),
                ]
                try options.output.show(try await options.ask("POST", "triggers", body))
            }
        }

        struct List: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "List triggers.")

            @OptionGroup var options: CarmaOptions

            func run() async throws {
                try await options.list("triggers", columns: ["trigger_id", "customer_id", "app_id", "name"])
            }
        }

        struct Delete: AsyncParsableCommand {
            static let configuration = CommandConfiguration(abstract: "Delete a trigger; what it sent stays.")

            @OptionGroup var options: CarmaOptions
            @Argument(help: "Its trigger_id.") var id: Int64

            func run() async throws { try await options.delete("triggers/\(id)") }
        }
    }
}

/// The server of a command about Carma's customers, and its output format.
struct CarmaOptions: ParsableArguments {
    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions

    /// - Parameter path: below `/admin/v1/carma`.
    func ask(_ method: String, _ path: String, _ body: JSONObject? = nil) async throws -> JSONValue? {
        try await backend.withBackend { try await $0.ask(method, "carma/\(path)", body) }
    }

    func list(_ path: String, columns: [String]) async throws {
        try output.show(try await ask("GET", path).list(path), columns: columns)
    }

    func delete(_ path: String) async throws {
        _ = try await ask("DELETE", path)
        print("deleted \(path.split(separator: "/").last ?? "")")
    }
}
