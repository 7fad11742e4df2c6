import Foundation

/// A line for the person at the terminal, beside what the command prints.
enum Notice {
    static func show(_ text: String) { StandardError.write("warning: \(text)\n") }
}
