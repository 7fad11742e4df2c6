import ArgumentParser
import BelfryAPI
import BelfryService
import Foundation

/// `belfry platform web`: which web pages may register browsers on a platform of type web.
struct PlatformWebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Let web pages register browsers on a platform, or end that.",
        discussion: """
            Prints the registration key, which a page gives to belfry.js: it is no secret, and only registers. What is not said stays \
            as it is; without options it shows what is. docs/SDK.md takes a page from nothing to its first push.
            """)

    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "The platform's UUID.", transform: UUID.parse) var platform: UUID
    @Option(help: ArgumentHelp("A site whose pages may register; may be repeated.", valueName: "https://host"))
    var origin: [String] = []
    @Flag(inversion: .prefixedNo, help: "Register a browser only once it has returned the content of a push.")
    var proof: Bool?
    @Flag(help: "Replace the registration key; pages with the present one are refused.") var newKey = false
    @Flag(help: "Let no page register any more. Browsers that are registered stay.") var end = false

    func validate() throws {
        guard !end || origin.isEmpty && proof == nil && !newKey else {
            throw ValidationError("--end goes with none of --origin, --proof and --new-key")
        }
    }

    func run() async throws {
        if end {
            try await backend.withBackend { try await $0.endWebAccess(of: platform) }
            print("no page registers browsers on \(platform.lowercased) any more")
            return
        }
        guard !origin.isEmpty || proof != nil || newKey else { return try await show() }
        let edit = WebAccessEdit(
            origins: origin.isEmpty ? nil : try origin.map { try WebOrigin($0, field: "--origin") },
            provesRegistrations: proof, replacesKey: newKey)
        let reply = try await backend.withBackend { try await $0.setWebAccess(of: platform, edit) }
        if output.json { return try Output.json(reply) }
        Output.fields([("platform_uuid", reply.platform_uuid)] + (reply.web.map { $0.fields } ?? []))
    }

    /// Prints the present settings.
    private func show() async throws {
        let reply = try await backend.withBackend { try await $0.platform(platform) }
        if output.json { return try Output.json(reply) }
        Output.fields(
            [("platform_uuid", reply.platform_uuid)]
                + (reply.web.map { $0.fields } ?? [
                    ("web", "no page registers browsers; --origin https://host lets its pages")
                ]))
    }
}

extension Admin.WebAccessReply {
    /// The fields for people, one below the other.
    var fields: [(String, String)] {
        [
            ("registration_key", registration_key), ("origins", origins.joined(separator: " ")),
            ("proof", proof ? "required" : "not required"),
        ]
    }
}
