import BelfryService
import Hummingbird

/// The query parameters, by name. A missing or empty one counts as not given; of a repeated one the last counts.
struct QueryItems: Sendable {
    private var values: [String: String] = [:]

    /// Decodes `+` as a space, as forms write it.
    init(_ query: String) {
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            values[String(percentDecoding: parts[0], plusIsSpace: true)] = String(
                percentDecoding: parts[1], plusIsSpace: true)
        }
    }

    subscript(name: String) -> String? { values[name] }

    func integer(_ name: String, from least: Int) throws(InvalidInput) -> Int? {
        guard let text = values[name] else { return nil }
        guard let integer = Int(text), integer >= least else {
            throw InvalidInput(field: name, "has to be a whole number from \(least)")
        }
        return integer
    }

    func bool(_ name: String) throws(InvalidInput) -> Bool? {
        guard let text = values[name] else { return nil }
        guard let bool = Bool(text) else { throw InvalidInput(field: name, "has to be true or false") }
        return bool
    }
}

extension Request {
    var query: QueryItems { QueryItems(uri.query ?? "") }

    /// A part of the path counted from its end, without its percent-encoding; `""` when there is none.
    func pathPart(fromEnd place: Int = 0) -> String {
        let parts = uri.path.split(separator: "/")
        guard place < parts.count else { return "" }
        return String(percentDecoding: parts[parts.count - 1 - place], plusIsSpace: false)
    }
}
