import ArgumentParser
import BelfryService
import Foundation

/// The application that a command works on, and its output format.
struct ResourceOptions: ParsableArguments {
    @OptionGroup var backend: BackendOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var application: AppOption

    /// Asks the admin API about something of the application.
    ///
    /// - Parameter path: the parts below the application's own, as they are; they are encoded here.
    func ask(
        _ method: String, _ path: [String], query: [(String, String?)] = [], _ body: JSONObject? = nil
    ) async throws -> JSONValue? {
        let items = query.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }
        return try await backend.withBackend { backend in
            let app = try await application.uuid(from: backend)
            let path = (["apps", app.lowercased] + path).map(\.percentEncoded).joined(separator: "/")
            return try await backend.ask(method, items.isEmpty ? path : "\(path)?\(items.joined(separator: "&"))", body)
        }
    }

    /// Prints the first things of a list.
    ///
    /// - Parameters:
    ///   - member: of the answer, that holds the things.
    ///   - columns: members of each thing.
    func list(
        _ path: [String], _ member: String, columns: [String], atMost limit: Int, query: [(String, String?)] = []
    ) async throws {
        var rows: [JSONValue] = []
        var cursor: String?
        repeat {
            // The lists of the map have 50 at a time; one more than is printed tells whether there are more.
            let page = [("limit", String(min(limit - rows.count + 1, 50))), ("cursor", cursor)]
            let reply = try await ask("GET", path, query: query + page)
            if case .array(let found)? = reply?[member] { rows += found }
            cursor = reply?["next_cursor"]?.stringValue
        } while cursor != nil && rows.count <= limit
        try output.show(Array(rows.prefix(limit)), columns: columns)
        if rows.count > limit { Notice.show("\(limit) are shown, and there are more: --limit prints more") }
    }

    func show(_ thing: JSONValue?) throws { try output.show(thing) }

    func delete(_ path: [String], done: String = "deleted") async throws {
        _ = try await ask("DELETE", path)
        print("\(done) \(path.last ?? "")")
    }
}

extension OutputOptions {
    /// Prints things, a row each.
    func show(_ rows: [JSONValue], columns: [String]) throws {
        if json { return try Output.json(JSONValue.array(rows)) }
        Output.table(columns, rows.map { row in columns.map { (row[$0] ?? .null).cell } })
    }

    /// Prints one thing.
    func show(_ thing: JSONValue?) throws {
        guard case .object(let members)? = thing else { return }
        if json { return try Output.json(JSONValue.object(members)) }
        Output.fields(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.cell) })
    }
}

/// How many things a list prints.
struct ListOptions: ParsableArguments {
    @Option(help: "Print so many at most.") var limit = 200

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit has to be 1 or more") }
    }
}

extension JSONValue {
    /// The text of a cell in a table.
    fileprivate var cell: String {
        switch self {
        case .null: "-"
        case .array(let items) where items.allSatisfy({ $0.stringValue != nil }):
            items.compactMap(\.stringValue).joined(separator: ", ")
        default: flat
        }
    }

    /// A text, or what a file holds: `@file`, or `@-` for standard input.
    static func argument(_ text: String, called name: String) throws -> JSONValue {
        var bytes = Data(text.utf8)
        if text.hasPrefix("@") {
            bytes = try InputFile.contents(of: String(text.dropFirst()), for: name)
        }
        do {
            return try JSONValue(json: bytes, field: name)
        } catch {
            throw ValidationError("\(name) \(error.problem)")
        }
    }
}

extension JSONObject {
    /// Sets a member where it is given.
    mutating func set(_ name: String, _ value: String?) {
        if let value { self[name] = .string(value) }
    }

    mutating func set(_ name: String, _ value: Double?) {
        if let value { self[name] = .number(JSONNumber(value)) }
    }

    mutating func set(_ name: String, _ values: [String]) {
        if !values.isEmpty { self[name] = .strings(values) }
    }

    mutating func set(_ name: String, _ values: [Int64]) {
        if !values.isEmpty { self[name] = .array(values.map(JSONValue.integer)) }
    }
}
