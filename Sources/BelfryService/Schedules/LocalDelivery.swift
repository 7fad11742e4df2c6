import FoundationEssentials

/// A time by the clocks of each recipient: at nine in their morning.
///
/// A schedule with one goes from step to step: at each of its times the devices whose clocks have come to it get the push, and no device
/// twice, wherever it travels. Devices without a time zone have that of their user, else `zone`.
package struct LocalDelivery: Sendable, Hashable {
    package let time: LocalTime
    package let past: Past
    /// The zone of devices that neither tell theirs nor have a user who does.
    package let zone: ZoneInfo
    /// When the schedule was made: zones where the time had come by then are past.
    package let madeAt: Instant
    /// The recurring schedule of which it is one time; nil for none.
    package let parent: Key<Schedule>?

    /// The time from the first clocks of the world that come to a time, `ZoneInfo.earliest`, to the last, which are at UTC-12.
    package static let spread = Duration.seconds(26 * 3_600)

    /// The treatment of devices where the time is past when the schedule is made.
    package enum Past: String, Sendable, Hashable, CaseIterable {
        case send, skip
        case nextDay = "next_day"
    }

    package init(time: LocalTime, past: Past, zone: ZoneInfo, madeAt: Instant, parent: Key<Schedule>? = nil) {
        (self.time, self.past, self.zone, self.madeAt, self.parent) = (time, past, zone, madeAt, parent)
    }

    /// When the clocks of a zone come to the time; nil where it is past and skipped.
    package func due(in zone: ZoneInfo) -> Instant? {
        let first = zone.instant(of: time)
        guard first <= madeAt else { return first }
        switch past {
        case .send: return madeAt
        case .skip: return nil
        case .nextDay:
            let today = zone.local(at: madeAt).day
            return [today, today + 1, today + 2].lazy
                .map { zone.instant(of: LocalTime(day: $0, second: time.second)) }.first { $0 > madeAt }
        }
    }

    /// The times at which some zone of the world is due, ascending.
    package var steps: [Instant] {
        Set((ZoneInfo.all + [zone]).compactMap { due(in: $0) }).sorted()
    }

    package func next(after instant: Instant) -> Instant? { steps.first { $0 > instant } }

    /// When the first devices are due. Throws where the time is past for the last clocks of the world, which are at UTC-12.
    func first() throws(InvalidInput) -> Instant {
        let end = Instant(milliseconds: (time.seconds + 12 * 3_600) * 1_000) + PushTimes.lateMax
        guard end >= madeAt, let first = next(after: madeAt + .milliseconds(-1)) else {
            throw InvalidInput(field: "send_at.local", "is past everywhere")
        }
        return first
    }

    /// The step of that time, or the one before it.
    func last(until instant: Instant) -> Instant? { steps.last { $0 <= instant } }

    /// The step before one of that time; nil where there is none, or none of that time.
    func step(before instant: Instant) -> Instant? {
        let all = steps
        return all.contains(instant) ? all.last { $0 < instant } : nil
    }

    /// The zones among these names, with case folded, whose clocks have come to the time; and those that are zones at all.
    func zones(of names: [String], at now: Instant) -> (due: [String], known: [String]) {
        let known = names.compactMap { name in ZoneInfo.named(folded: name).map { (name, due(in: $0)) } }
        return (known.filter { $0.1.map { $0 <= now } ?? false }.map(\.0), known.map(\.0))
    }

    /// The devices that are due, as far as zones say.
    ///
    /// - Parameter names: the time zones that devices have, with case folded.
    func expression(for names: [String], at now: Instant) -> AudienceExpression {
        let (due, known) = zones(of: names, at: now)
        func among(_ property: DeviceProperty, _ names: [String]) -> AudienceExpression {
            .term(.property(property, .equals(names.map { .text($0) })))
        }
        func isDue(_ zone: ZoneInfo) -> Bool { self.due(in: zone).map { $0 <= now } ?? false }
        // A user's zone that this system does not know counts as none.
        let isDefaultDue = isDue(zone)
        let others = ZoneInfo.all.filter { isDue($0) != isDefaultDue }.map(\.name)
        let ofOthers = others.isEmpty ? nil : among(.userTimeZone, others)
        let ofUsers: AudienceExpression? =
            isDefaultDue ? ofOthers.map { AudienceExpression.not($0) } ?? .term(.everyone) : ofOthers
        var parts: [AudienceExpression] = []
        if !due.isEmpty { parts.append(among(.timeZone, due)) }
        if let ofUsers { parts.append(known.isEmpty ? ofUsers : .all([.not(among(.timeZone, known)), ofUsers])) }
        return parts.isEmpty ? .not(.term(.everyone)) : .any(parts)
    }
}

extension ZoneInfo {
    /// Every zone of the system's database, by the names that people give them.
    static let all: [ZoneInfo] = {
        TimeZoneNames.all.compactMap { try? ZoneInfo($0, field: "") }
    }()

    /// By the names with case folded.
    static let names = Dictionary(TimeZoneNames.all.map { ($0.caseFolded, $0) }) { first, _ in first }

    /// The zone of a name with case folded; nil where there is none.
    static func named(folded name: String) -> ZoneInfo? { names[name].flatMap { try? ZoneInfo($0, field: "") } }
}

enum TimeZoneNames {
    /// The names in the tz database, old ones too.
    static let all: [String] = {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: ZoneInfo.directory)) ?? []
        let names = paths.filter { path in
            let isOther = ["right/", "posix/", "posixrules", "localtime", "Factory"].contains { path.hasPrefix($0) }
            return !isOther && path.utf8.first.map { 0x41...0x5A ~= $0 } ?? false && !path.contains(".")
        }
        return Set(names + links.keys).sorted()
    }()

    /// The present names by the old ones: the lines `L PRESENT OLD` of the database as one text.
    static let links: [String: String] = {
        let text = String(
            decoding: FileManager.default.contents(atPath: ZoneInfo.directory + "tzdata.zi") ?? Data(), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("L ") }.map { $0.split(separator: " ") }
        return Dictionary(lines.filter { $0.count == 3 }.map { (String($0[2]), String($0[1])) }) { first, _ in first }
    }()
}

// MARK: JSON

extension LocalDelivery {
    /// Reads `{"local": "2026-12-24T09:00", "past": "next_day", "time_zone": "Europe/Vienna"}`.
    init(_ field: String, from reader: inout JSONReader, at now: Instant) throws(InvalidInput) {
        var (time, past, zone): (LocalTime?, Past?, ZoneInfo?)
        try reader.object(field, of: ["local", "past", "time_zone"]) { reader, name throws(InvalidInput) in
            let own = "\(field).\(name)"
            switch name {
            case "local":
                time = try reader.string(own).map { (text) throws(InvalidInput) in try LocalTime(text, field: own) }
            case "past": past = try reader.choice(own)
            default:
                zone = try reader.string(own).map { (text) throws(InvalidInput) in try ZoneInfo(text, field: own) }
            }
        }
        guard let time else { throw InvalidInput.missing("\(field).local") }
        let own: ZoneInfo = if let zone { zone } else { try ZoneInfo("UTC", field: field) }
        self.init(time: time, past: past ?? .send, zone: own, madeAt: now)
    }

    /// As a request has it.
    var json: JSONValue {
        .object(["local": .string(time.text), "past": .string(past.rawValue), "time_zone": .string(zone.name)])
    }

    /// As people read it.
    var words: String {
        let late =
            switch past {
            case .send: "those past it at once"
            case .skip: "not to those past it"
            case .nextDay: "those past it the next day"
            }
        return
            "\(time.dayText) \(time.timeText) by the clock of each recipient, \(late); \(zone.name) where none is known"
    }

    /// The delivery of a schedule that is made now.
    func made(at now: Instant) -> LocalDelivery { LocalDelivery(time: time, past: past, zone: zone, madeAt: now) }

    /// The stored form.
    var storedText: String {
        var members: JSONObject = [
            "local": .string(time.text), "past": .string(past.rawValue), "zone": .string(zone.name),
            "made": .integer(madeAt.milliseconds),
        ]
        members["parent"] = parent.map { .integer($0.rawValue) }
        return JSONValue.object(members).storedText
    }

    /// Decodes the stored form. Throws `InvalidInput` if it is malformed.
    init(stored text: [UInt8]) throws(InvalidInput) {
        let value = try JSONReader.text(text, field: "local")
        guard let time = value["local"]?.stringValue, let zone = value["zone"]?.stringValue,
            let past = value["past"]?.stringValue.flatMap(Past.init), let made = value["made"]?.wholeNumber
        else { throw InvalidInput(field: "local", "is malformed") }
        self.init(
            time: try LocalTime(time, field: "local"), past: past, zone: ZoneInfo(stored: zone),
            madeAt: Instant(milliseconds: made), parent: value["parent"]?.wholeNumber.map { Key($0) })
    }
}
