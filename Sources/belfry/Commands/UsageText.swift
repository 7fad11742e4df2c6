/// The usage that stands in help and in errors: where it is long, the options that may be left out are summed up as `[<options>]`.
enum UsageText {
    private static let columnsMax = 100

    static func shortened(_ text: String) -> String {
        for (head, end) in [("USAGE: ", "\n\n"), ("Usage: ", "\n")] {
            guard let start = text.firstRange(of: "\(head)belfry ") else { continue }
            let body = text[start.lowerBound...]
            let rest = body.firstRange(of: end)?.lowerBound ?? body.endIndex
            let usage = body[..<rest].split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard usage.count > columnsMax else { return text }
            return text[..<start.lowerBound] + summedUp(usage) + text[rest...]
        }
        return text
    }

    /// Puts a command's own usage in the place of that of the whole program, which is all that is known of an error while it runs.
    static func replaced(in text: String, by usage: String) -> String {
        guard let start = text.firstRange(of: "\nUsage: ")?.lowerBound else { return text }
        let words = usage.split(whereSeparator: \.isWhitespace).drop { $0 == "USAGE:" }
        let command = words.prefix { !$0.hasPrefix("[") && !$0.hasPrefix("<") && !$0.hasPrefix("-") }
        return """
            \(text[..<start])
            Usage: \(words.joined(separator: " "))
              See '\(command.joined(separator: " ")) --help' for more information.
            """
    }

    /// Drops `[--name <value>]` and its like.
    private static func summedUp(_ usage: String) -> String {
        guard let first = usage.firstRange(of: " [-")?.lowerBound else { return usage }
        let needed = usage[first...].replacing(#/ \[-[^\[\]]*\]/#, with: "")
        return usage[..<first] + " [<options>]" + needed
    }
}
