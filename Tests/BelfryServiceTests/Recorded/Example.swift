import Foundation
import Testing

/// A JSON text as it stands in the documentation of PCF Push Notification Service 1.6 or 1.9, comments and dots included.
struct Example {
    let name: String
    private let text: String

    init(_ name: String) throws {
        self.name = name
        let file = try #require(Bundle.module.url(forResource: name, withExtension: "txt", subdirectory: "Examples"))
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// The body that a reader of the page would post: without comments and dots, and with an object where the page says "object".
    ///
    /// - Parameter rest: what the dots at the start of a fragment stand for.
    func posted(rest: String = "") -> String {
        var lines = text.split(separator: "\n").map(Self.withoutComment)
        if let first = lines.firstIndex(where: Self.isDots) { lines[first] = rest.isEmpty ? "" : rest + "," }
        return lines.filter { !Self.isDots($0) }.joined(separator: "\n")
            .replacing(/,\s*\.\.\./, with: "").replacing(/:\s*"object"/, with: ": {}")
    }

    /// As an answer, read as leniently as a person would.
    func answer() throws -> StrictJSON { try StrictJSON(posted(), isFromAPage: true) }

    private static func withoutComment(_ line: Substring) -> String {
        var isInString = false
        for index in line.indices {
            if line[index] == "\"" { isInString.toggle() }
            if !isInString, line[index] == "#" || line[index...].hasPrefix("//") { return String(line[..<index]) }
        }
        return String(line)
    }

    private static func isDots(_ line: String) -> Bool { line.trimmingCharacters(in: .whitespaces) == "..." }
}

extension StrictJSON {
    /// Members that a page shows and an answer lacks, or has as another type.
    ///
    /// - Parameter besides: keys whose page is a placeholder or known to be wrong.
    func lacks(_ page: StrictJSON, besides: Set<String> = [], at place: String = "the answer") -> [String] {
        switch (self, page) {
        case (.object(let members), .object(let shown)):
            return shown.keys.filter { !besides.contains($0) }.sorted().flatMap { key in
                guard let value = members[key], let page = shown[key] else { return ["\(place).\(key) is missing"] }
                return value.lacks(page, besides: besides, at: "\(place).\(key)")
            }
        case (.array(let elements), .array(let shown)):
            guard let page = shown.first else { return [] }
            guard !elements.isEmpty else { return ["\(place) is empty"] }
            return elements.flatMap { $0.lacks(page, besides: besides, at: "\(place)[]") }
        case (.string, .string), (.integer, .integer), (.bool, .bool), (.null, .null), (.number, .integer): return []
        default: return ["\(place) is \(self), the page shows \(page)"]
        }
    }
}
