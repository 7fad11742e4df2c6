import BelfryCore
import BelfryServer
import Foundation

/// Warns of times that are over, which are taken and seldom meant.
enum PastTime {
    /// - Parameters:
    ///   - text: a time as given; what is none is refused elsewhere.
    ///   - consequence: what follows from it.
    static func warn(_ text: String?, _ option: String, _ consequence: String) {
        let now = SystemClock().now
        guard let text, let time = Instant(text: text), time < now else { return }
        Notice.show("\(option) \(text) is in the past (it is \(now.text)): \(consequence)")
    }
}

/// A line for the person at the terminal, beside what the command prints.
enum Notice {
    static func show(_ text: String) { FileHandle.standardError.write(Data("warning: \(text)\n".utf8)) }
}
