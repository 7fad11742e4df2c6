/// The form in which callers write a recurrence, and in which it is stored:
/// `{"rule": "FREQ=WEEKLY;BYDAY=MO", "start": "2026-12-07T09:00", "time_zone": "Europe/Vienna", "except": ["2026-12-24"], "missed":
/// "run_once"}`. The last two may be missing.
extension Recurrence {
    static let fields = ["rule", "start", "time_zone", "except", "missed"]

    init(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
        var parts = Parts(field: field)
        try reader.object(field, of: Self.fields) { reader, name throws(InvalidInput) in
            try parts.read(name, from: &reader)
        }
        self = try parts.recurrence()
    }

    /// Reads the stored form.
    init(stored text: [UInt8]) throws(InvalidInput) {
        var parts = Parts(field: "recurrence")
        try JSONReader.document(text) { reader, name throws(InvalidInput) in try parts.read(name, from: &reader) }
        self = try parts.recurrence()
    }

    var storedText: String { json.storedText }

    /// The written form, with nothing left out.
    package var json: JSONValue {
        .object([
            "rule": .string(rule.text), "start": .string(start.text), "time_zone": .string(zone.name),
            "except": .strings(exceptions), "missed": .string(missed.rawValue),
        ])
    }

    package var exceptions: [String] { except.map { $0.text(at: start) } }

    /// Makes a recurrence of texts, each of which may be missing.
    private struct Parts {
        let field: String
        var rule: String?
        var start: String?
        var zone: String?
        var except: [String] = []
        var missed: Missed = .runOnce

        mutating func read(_ name: String, from reader: inout JSONReader) throws(InvalidInput) {
            let field = "\(field).\(name)"
            switch name {
            case "rule": rule = try reader.string(field)
            case "start": start = try reader.string(field)
            case "time_zone": zone = try reader.string(field)
            case "except": except = try reader.strings(field) ?? []
            default: missed = try reader.choice(field) ?? .runOnce
            }
        }

        func recurrence() throws(InvalidInput) -> Recurrence {
            guard let rule else { throw InvalidInput.missing("\(field).rule") }
            guard let start else { throw InvalidInput.missing("\(field).start") }
            guard let zone else { throw InvalidInput.missing("\(field).time_zone") }
            return try Recurrence(
                rule: RecurrenceRule(rule, field: "\(field).rule"), start: LocalTime(start, field: "\(field).start"),
                zone: ZoneInfo(zone, field: "\(field).time_zone"), except: except, missed: missed, field: field)
        }
    }
}
