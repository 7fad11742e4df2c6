import ArgumentParser
import BelfryService

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
