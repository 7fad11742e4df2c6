import FoundationEssentials

extension Receipt.State {
    var value: Value {
        switch self {
        case .settled: .badge("done", .good)
        case .fanningOut, .delivering: .badge("sending", .calm)
        case .parked: .badge("held back", .warn)
        case .damaged: .badge("damaged", .bad)
        }
    }
}

extension Answer {
    /// The tone in which an answer is shown.
    var tone: Value.Tone {
        switch self {
        case .accepted: .good
        case .pending: .calm
        case .gone, .expired, .skipped: .warn
        case .unknown, .refused: .bad
        }
    }

    /// Its plain word, which may be a link, and its code.
    func values(_ href: String? = nil) -> [Value] { [.badge(words.title, tone, href: href), .small(name)] }
}

extension Answer.Kind {
    var title: String {
        switch self {
        case .pending: Answer.pending.words.title
        case .accepted: Answer.accepted.words.title
        case .gone: Answer.gone.words.title
        case .expired: Answer.expired.words.title
        case .unknown: Answer.unknown.words.title
        case .skipped: "Skipped"
        case .refused: "Refused"
        case .failed: "Not delivered"
        case .all: "All"
        }
    }
}

extension Receipt {
    /// The state in words: a push that was cancelled says so once it is done.
    var stateValue: Value {
        settledAt != nil && counts[.skipped(.cancelled), default: 0] > 0 ? .badge("cancelled", .warn) : state.value
    }

    func count(_ kind: Answer.Kind) -> Int { counts.reduce(0) { $0 + (kind.includes($1.key) ? $1.value : 0) } }
}

extension Push.Content {
    /// The first line of what people see of it.
    var summary: String {
        if let text = body ?? shared.title { return text.firstLine }
        if let apple, case .object(let aps)? = apple.payload["aps"], let alert = aps["alert"] {
            if let text = alert.stringValue { return text.firstLine }
            if case .object(let members) = alert,
                let text = members["body"]?.stringValue ?? members["title"]?.stringValue
            {
                return text.firstLine
            }
        }
        if follows?.isRetraction == true { return "[retraction]" }
        if encrypted != nil { return "[encrypted message]" }
        return template.map { "Template \($0.text)" } ?? "[custom message]"
    }
}

extension String {
    /// With a capital letter and a full stop.
    var sentence: String { isEmpty ? "" : prefix(1).uppercased() + dropFirst() + (hasSuffix(".") ? "" : ".") }

    /// Cut where it gets long.
    fileprivate var firstLine: String {
        let line = split(whereSeparator: \.isNewline).first.map(String.init) ?? self
        return line.count > 90 ? String(line.prefix(90)) + "…" : line
    }
}

extension Target {
    var words: String {
        var parts: [String] = []
        if let expression { return expression.text }
        if let devices { parts.append(devices.count == 1 ? "one device" : "\(devices.count.grouped) devices") }
        if !topics.isEmpty {
            parts.append("topics: \(topics.prefix(8).joined(separator: ", "))" + (topics.count > 8 ? ", …" : ""))
        }
        if !customUserIDs.isEmpty {
            parts.append(customUserIDs.count == 1 ? "one user" : "\(customUserIDs.count.grouped) users")
        }
        if parts.isEmpty { parts.append("everyone") }
        if let platforms { parts.append("on \(platforms.map(\.rawValue).joined(separator: ", "))") }
        return parts.joined(separator: "; ")
    }
}

extension AnalyticsKind {
    var word: String {
        switch self {
        case .sent: "sent"
        case .received: "received"
        case .opened: "opened"
        case .geofenceTriggered: "geofence triggers"
        case .heartbeat: "heartbeats"
        case .dismissed: "dismissed"
        }
    }
}

/// The periods that charts cover.
enum Period: String, CaseIterable {
    case day = "24h"
    case week = "7d"
    case month = "30d"
    case quarter = "90d"

    /// The number of its hours or days, the last of which is not over.
    var columns: Int64 {
        switch self {
        case .day: 24
        case .week: 7
        case .month: 30
        case .quarter: 90
        }
    }

    static func tabs(_ path: String, current: Period) -> [Link] {
        allCases.map { Link($0.rawValue, Address.query(path, [("period", $0.rawValue)]), isCurrent: $0 == current) }
    }
}
