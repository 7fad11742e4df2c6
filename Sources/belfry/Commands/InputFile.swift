import ArgumentParser
import BelfryServer
import Foundation

/// A file that a command was given.
enum InputFile {
    /// The contents of a file, a text in UTF-8: no other file that commands take begins with a byte order mark. Throws
    /// `ValidationError` with the option, the path and why it cannot be read.
    ///
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - option: what named it.
    static func contents(of path: String, for option: String) throws -> Data {
        do throws(FileFault) {
            return try (path == "-" ? StandardInput.contents() : path.contents()).inUTF8
        } catch {
            throw ValidationError("\(option): \(path == "-" || error.isTooLarge ? "\(error)" : fault(of: path))")
        }
    }

    /// Why a path cannot be read.
    static func fault(of path: String) -> String {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return path.hasPrefix("/")
                ? "there is no file \(path)"
                : "there is no file \(path) in \(FileManager.default.currentDirectoryPath)"
        }
        return isDirectory.boolValue
            ? "\(path) is a directory, a file is expected" : "\(path) is there, and may not be read by this user"
    }
}

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
