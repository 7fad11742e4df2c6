import ArgumentParser
import BelfryService

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

/// Finds the argument that is no command and no option, with the nearest there is.
///
/// The parser reports what is missing, or does not go together, before what is misspelt, and knows no nearest command.
enum Misspelling {
    /// The sentence for the first such argument; nil where there is none.
    static func words(in arguments: [String], of root: any ParsableCommand.Type) -> String? {
        var (command, path, rest): (any ParsableCommand.Type, String, _) = (root, name(of: root), arguments[...])
        while let word = rest.first, !word.hasPrefix("-"), word != "help" {
            let known = command.configuration.subcommands
            if known.isEmpty { break }
            guard let next = known.first(where: { name(of: $0) == word }) else {
                let nearest = known.map(name).nearest(to: word).map { ". Did you mean '\(path) \($0)'?" } ?? ""
                return "There is no command '\(path) \(word)'\(nearest)"
            }
            (command, path, rest) = (next, "\(path) \(word)", rest.dropFirst())
        }
        let options = options(of: command, in: root)
        for word in rest.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
            let option = String(word.prefix { $0 != "=" })
            guard !options.contains(option) else { continue }
            return "Unknown option '\(option)'" + (options.nearest(to: option).map { ". Did you mean '\($0)'?" } ?? "")
        }
        return nil
    }

    /// Puts the sentence in the place of what the parser says, before the usage.
    static func replaced(in text: String, by words: String) -> String {
        let usage = text.firstRange(of: "\nUsage: ").map { text[$0.lowerBound...] } ?? ""
        return "Error: \(words)\(usage)"
    }

    private static func options(of command: any ParsableCommand.Type, in root: any ParsableCommand.Type) -> [String] {
        root.helpMessage(for: command).matches(of: #/--[a-z][a-z0-9-]*/#).map { String($0.output) }.withoutRepeats
    }

    /// The name of a command; the parser's default where its configuration has none.
    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? "\(command)".lowercased()
    }
}
