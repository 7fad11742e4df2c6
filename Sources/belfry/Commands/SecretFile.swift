import ArgumentParser
import Foundation

/// A secret on its way in: command lines are seen by others on the machine, files are not.
enum SecretFile {
    /// Without the line end. `-` is standard input.
    static func contents(of path: String) throws -> String {
        let data = path == "-" ? try FileHandle.standardInput.readToEnd() : FileManager.default.contents(atPath: path)
        guard let data else { throw ValidationError("\(path) cannot be read") }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
