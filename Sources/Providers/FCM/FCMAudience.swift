/// The subscribers of a topic, or of several by a condition. FCM keeps them: one message reaches all, and no answer tells of single devices.
///
/// Its type sets it apart from a token, so that no device can name a topic as its own address.
///
/// Source: Firebase, "Send messages to topics"; the Firebase SDK for Android, `TOPIC_NAME_PATTERN`.
public enum FCMAudience: Sendable, Hashable {
    /// The name without `/topics/`.
    case topic(String)
    /// Topics with `&&`, `||`, `!` and parentheses between them.
    case condition(String)

    public static let topicsMax = 5
    public static let topicBytesMax = 900
    public static let conditionBytesMax = 5_000
    private static let prefix = "/topics/"

    /// Reads `/topics/news` or `'dogs' in topics || 'cats' in topics`.
    public init(_ text: String) throws(FCMAudienceError) {
        guard !text.hasPrefix(Self.prefix) else {
            let name = text.dropFirst(Self.prefix.count)
            guard Self.isTopic(name.utf8) else { throw .topic }
            self = .topic(String(name))
            return
        }
        guard text.utf8.count <= Self.conditionBytesMax else { throw .conditionTooLong(bytes: text.utf8.count) }
        try Self.check(condition: Array(text.utf8))
        self = .condition(text)
    }

    /// One pass with a counter for the parentheses: the cost is linear and no depth is a stack.
    private static func check(condition: [UInt8]) throws(FCMAudienceError) {
        var (rest, topics, open, isComplete) = (condition[...], 0, 0, false)
        while let byte = rest.first {
            if byte == UInt8(ascii: " ") {
                rest.removeFirst()
            } else if isComplete {
                if byte == UInt8(ascii: ")"), open > 0 {
                    rest.removeFirst()
                    open -= 1
                } else if rest.starts(with: "&&".utf8) || rest.starts(with: "||".utf8) {
                    rest.removeFirst(2)
                    isComplete = false
                } else {
                    throw .condition(at: rest.startIndex)
                }
            } else if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "!") {
                rest.removeFirst()
                if byte == UInt8(ascii: "(") { open += 1 }
            } else {
                let start = rest.startIndex
                guard let end = endOfTopic(in: rest) else { throw .condition(at: start) }
                rest = rest[end...]
                topics += 1
                isComplete = true
            }
        }
        guard isComplete, open == 0 else { throw .condition(at: condition.count) }
        guard topics <= topicsMax else { throw .tooManyTopics(topics) }
    }

    /// The end of `'name' in topics` at the beginning of the text; nil where there is none.
    private static func endOfTopic(in text: ArraySlice<UInt8>) -> Int? {
        guard text.first == UInt8(ascii: "'"), let quote = text.dropFirst().firstIndex(of: UInt8(ascii: "'")),
            isTopic(text[(text.startIndex + 1)..<quote])
        else { return nil }
        var rest = text[(quote + 1)...]
        for word in ["in", "topics"] {
            guard rest.first == UInt8(ascii: " ") else { return nil }
            rest = rest.drop { $0 == UInt8(ascii: " ") }
            guard rest.starts(with: word.utf8) else { return nil }
            rest.removeFirst(word.utf8.count)
        }
        return rest.startIndex
    }

    private static func isTopic(_ name: some Collection<UInt8>) -> Bool {
        1...topicBytesMax ~= name.count && name.allSatisfy(nameBytes.contains)
    }

    private static let nameBytes = Set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.~%".utf8)

    /// The member of the message, and its value.
    var member: (head: [UInt8], value: [UInt8]) {
        switch self {
        case .topic(let name): (Array(#"{"message":{"topic":"#.utf8), Array(name.utf8))
        case .condition(let text): (Array(#"{"message":{"condition":"#.utf8), Array(text.utf8))
        }
    }
}

/// Why a text is no topic and no condition.
public enum FCMAudienceError: Error, Sendable, Hashable, CustomStringConvertible {
    case topic
    /// The place of the first byte that does not fit.
    case condition(at: Int)
    case conditionTooLong(bytes: Int)
    case tooManyTopics(Int)

    public var description: String {
        switch self {
        case .topic:
            "topic has to be /topics/ and 1 to \(FCMAudience.topicBytesMax) of the characters a-z, A-Z, 0-9, - _ . ~ %"
        case .condition(let place):
            "condition cannot be read at byte \(place + 1), it has to be like 'dogs' in topics || 'cats' in topics"
        case .conditionTooLong(let bytes):
            "condition is \(bytes) bytes, the limit is \(FCMAudience.conditionBytesMax)"
        case .tooManyTopics(let topics): "condition has \(topics) topics, FCM takes \(FCMAudience.topicsMax)"
        }
    }
}
