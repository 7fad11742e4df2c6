import Foundation

/// A line for the person at the terminal, beside what the command prints.
enum Notice {
    static func show(_ text: String) { FileHandle.standardError.write(Data("warning: \(text)\n".utf8)) }
}
