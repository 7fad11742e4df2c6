import ArgumentParser
import Foundation

/// A secret on its way in: command lines are seen by others on the machine, files are not.
enum SecretFile {
    /// The contents of a file without the line end.
    ///
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - option: what named it.
    static func contents(of path: String, for option: String) throws -> String {
        String(decoding: try InputFile.contents(of: path, for: option), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
