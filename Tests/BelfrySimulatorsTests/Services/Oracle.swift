import Foundation

@testable import BelfrySimulators

/// Web Push by others, see `Scripts/webpush-oracle`; names and times, see `Scripts/text-oracle`.
enum Oracle {
    /// Puts all questions at once: each is a JSON object, and so is each answer.
    static func ask(_ questions: [[String: String]], of name: String = "webpush-oracle") async throws -> [JSON] {
        let lines = questions.map { question in
            "{\(question.map { "\($0.quoted):\($1.hasPrefix("{") || $0 == "expires" ? $1 : $1.quoted)" }.joined(separator: ","))}"
        }
        let script = URL(filePath: #filePath).appending(path: "../../../../Scripts/\(name)").standardized.path
        return try await Tool.withFile(lines.joined(separator: "\n")) { input in
            let result = try await Tool.run("/bin/sh", ["-c", "\"$0\" < \"$1\"", script, input])
            let answers = result.output.split(separator: "\n").compactMap { JSON(Array($0.utf8)) }
            guard result.status == 0, answers.count == questions.count else {
                throw Silence(status: result.status, output: result.output)
            }
            return answers
        }
    }

    struct Silence: Error {
        let status: Int32
        let output: String
    }
}
