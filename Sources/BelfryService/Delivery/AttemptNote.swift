/// The results of one attempt to deliver a batch, as far as people may want to see them later.
///
/// It is a line of text in the batch's history, so that no device needs a row: `attempt`, time in milliseconds, runs, and then
/// the answers, separated by tabs. A run is a number of devices and a letter, which names an answer: `3a` are three devices with
/// the first of them, `2.` are two that were not sent to. The devices are those of the batch, in order.
package struct AttemptNote: Sendable, Hashable {
    package let attempt: Int64
    package let at: Instant
    private let runs: [Run]
    private let answers: [String]

    /// The limit on a batch's history, which keeps its newest bytes.
    package static let historyBytesMax = 4_096
    /// A verdict older than this may predate the device's registration, so its words are noted.
    private static let plainDeathAge = Duration.seconds(30 * 86_400)
    private static let answersMax = 12
    private static let answerBytesMax = 260
    /// The most runs in a note; later ones are left out.
    private static let runsMax = 200

    private struct Run: Sendable, Hashable {
        var count: Int
        /// nil for devices that were not sent to.
        let answer: Int?
    }

    /// Collects the outcomes of an attempt, device by device.
    package struct Draft {
        private let attempt: Int64
        private let at: Instant
        private let devices: Int
        private var places: [Int: Int] = [:]
        private var answers: [String] = []

        package init(of batch: Batch, at now: Instant) {
            attempt = batch.attempt
            at = now
            devices = batch.devices.count
        }

        package mutating func add(_ outcome: Outcome, at place: Int) {
            switch outcome {
            // A message accepted at the first attempt, or a dead token whose device is deactivated, needs no history.
            case .accepted, .moved: guard attempt > 1 else { return }
            case .gone(let since?, _) where at - since < AttemptNote.plainDeathAge: guard attempt > 1 else { return }
            default: break
            }
            places[place] = answerPlace(of: outcome)
        }

        private mutating func answerPlace(of outcome: Outcome) -> Int {
            let words = ProviderWords.printable(outcome.summary, bytesMax: AttemptNote.answerBytesMax)
            if let known = answers.firstIndex(of: words) { return known }
            if answers.count < AttemptNote.answersMax { answers.append(words) }
            return answers.count - 1
        }

        /// nil where there is nothing to note.
        package func finish() -> AttemptNote? {
            guard !places.isEmpty else { return nil }
            var runs: [Run] = []
            for place in 0..<devices {
                if runs.last?.answer == places[place], !runs.isEmpty {
                    runs[runs.count - 1].count += 1
                } else if runs.count < AttemptNote.runsMax {
                    runs.append(Run(count: 1, answer: places[place]))
                } else {
                    break
                }
            }
            return AttemptNote(attempt: attempt, at: at, runs: runs, answers: answers)
        }
    }

    private init(attempt: Int64, at: Instant, runs: [Run], answers: [String]) {
        self.attempt = attempt
        self.at = at
        self.runs = runs
        self.answers = answers
    }

    /// The answers, each once.
    package var words: [String] { answers }

    /// The most sentences that are shown of a push.
    package static let wordsMax = 12

    /// The answers in the histories of some batches that providers have a part in, each once; at most `wordsMax`.
    package static func words(of histories: [String]) -> [String] {
        var words: [String] = []
        for sentence in histories.lazy.flatMap({ history($0) }).flatMap(\.words)
        where words.count < wordsMax && !words.contains(sentence)
            && !Outcome.ownSummaries.contains(where: { sentence.hasPrefix($0) })
        {
            words.append(sentence)
        }
        return words
    }

    /// The answer for the device at this place of the batch; nil if it was not sent to.
    package func answer(at place: Int) -> String? {
        var end = 0
        for run in runs {
            end += run.count
            if place < end { return run.answer.flatMap { answers.indices.contains($0) ? answers[$0] : nil } }
        }
        return nil
    }
}

extension AttemptNote {
    /// A line of the history, with its end.
    package var line: String {
        let runs = runs.map { "\($0.count)\(Self.letter($0.answer))" }.joined()
        return ([String(attempt), String(at.milliseconds), runs] + answers).joined(separator: "\t") + "\n"
    }

    /// The notes of a history, oldest first. Its first line may have lost its beginning.
    package static func history(_ text: String) -> [AttemptNote] {
        text.split(separator: "\n").compactMap { AttemptNote(line: $0) }
    }

    private init?(line: Substring) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard parts.count >= 3, let attempt = Int64(parts[0]), let at = Int64(parts[1]) else { return nil }
        var runs: [Run] = []
        var count = 0
        for byte in parts[2].utf8 {
            if let digit = byte.wholeNumber {
                count = min(count * 10 + digit, Batch.devicesMax)
            } else {
                runs.append(Run(count: count, answer: byte == UInt8(ascii: ".") ? nil : Int(byte) - 0x61))
                count = 0
            }
        }
        self.init(
            attempt: attempt, at: Instant(milliseconds: at), runs: runs, answers: parts.dropFirst(3).map(String.init))
    }

    private static func letter(_ answer: Int?) -> Character {
        answer.map { Character(UnicodeScalar(UInt8(0x61 + $0))) } ?? "."
    }
}

extension UInt8 {
    fileprivate var wholeNumber: Int? { 0x30...0x39 ~= self ? Int(self) - 0x30 : nil }
}
