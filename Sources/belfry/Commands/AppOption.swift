import ArgumentParser
import BelfryAPI
import BelfryService
import Foundation

/// The application that a command works on.
struct AppOption: ParsableArguments {
    @Option(help: "The application's UUID; may be left out where there is one.", transform: UUID.parse) var app: UUID?

    private static let shownMax = 5

    /// The application that is named, or the only one there is.
    func uuid(from backend: any AdminBackend) async throws -> UUID {
        if let app { return app }
        let known = try await backend.applications()
        guard !known.isEmpty else {
            throw ValidationError("there is no application yet; `belfry app create` makes one")
        }
        if known.count == 1, let only = UUID(uuidString: known[0].app_uuid) { return only }
        let names = known.prefix(Self.shownMax).map { "\($0.app_uuid) (\($0.name))" }.joined(separator: ", ")
        let rest = known.count > Self.shownMax ? " and \(known.count - Self.shownMax) more" : ""
        throw ValidationError("which application is meant? Give --app, since there are \(known.count): \(names)\(rest)")
    }
}
