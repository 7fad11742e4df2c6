/// The form in which callers write a recurrence, and in which it is stored:
/// `{"rule": "FREQ=WEEKLY;BYDAY=MO", "start": "2026-12-07T09:00", "time_zone": "Europe/Vienna", "except": ["2026-12-24"], "missed":
/// "run_once"}`. The last two may be missing. `"local": true` stands for the clocks of each recipient, with `"past": "skip"`; then the time
/// zone may be missing too.
extension Recurrence {
    static let fields = ["rule", "start", "time_zone", "except", "missed", "local", "past"]

    init(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
        var parts = Parts(field: field)
        try reader.object(field, of: Self.fields) { reader, name throws(InvalidInput) in
            try parts.read(name, from: &reader)
        }
        self = try parts.recurrence()
    }

    /// Reads the stored form.
    init(stored text: [UInt8]) throws(InvalidInput) {
        var parts = Parts(field: "recurrence", isStored: true)
        try JSONReader.document(text) { reader, name throws(InvalidInput) in try parts.read(name, from: &reader) }
        self = try parts.recurrence()
    }

    var storedText: String { json.storedText }

    /// The written form, with nothing left out.
    package var json: JSONValue {
        var members: JSONObject = [
            "rule": .string(rule.text), "start": .string(start.text), "time_zone": .string(zone.name),
            "except": .strings(exceptions), "missed": .string(missed.rawValue),
        ]
        if let past {
            members["local"] = .bool(true)
            members["past"] = .string(past.rawValue)
        }
        return .object(members)
    }

    package var exceptions: [String] { except.map { $0.text(at: start) } }

    /// Makes a recurrence of texts, each of which may be missing.
    private struct Parts {
        let field: String
        var isStored = false
        var rule: String?
        var start: String?
        var zone: String?
        var except: [String] = []
        var missed: Missed = .runOnce
        var isLocal = false
        var past: LocalDelivery.Past?

        mutating func read(_ name: String, from reader: inout JSONReader) throws(InvalidInput) {
            let field = "\(field).\(name)"
            switch name {
            case "rule": rule = try reader.string(field)
            case "start": start = try reader.string(field)
            case "time_zone": zone = try reader.string(field)
            case "except": except = try reader.strings(field) ?? []
            case "local": isLocal = try reader.bool(field) ?? false
            case "past": past = try reader.choice(field)
            default: missed = try reader.choice(field) ?? .runOnce
            }
        }

        func recurrence() throws(InvalidInput) -> Recurrence {
            guard let rule else { throw InvalidInput.missing("\(field).rule") }
            guard let start else { throw InvalidInput.missing("\(field).start") }
            guard let zone = zone ?? (isLocal ? "UTC" : nil) else { throw InvalidInput.missing("\(field).time_zone") }
            guard isLocal || past == nil else {
                throw InvalidInput(field: "\(field).past", "goes with local: true, the clocks of each recipient")
            }
            return try Recurrence(
                rule: RecurrenceRule(rule, field: "\(field).rule"), start: LocalTime(start, field: "\(field).start"),
                zone: isStored ? ZoneInfo(stored: zone) : ZoneInfo(zone, field: "\(field).time_zone"),
                past: isLocal ? past ?? .skip : nil, except: except, missed: missed, field: field)
        }
    }
}
