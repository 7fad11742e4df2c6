import Hummingbird

/// The clocks of the person who looks at a page, by which all its times are written and read.
struct Viewer: Sendable {
    var zone = ZoneInfo.utc
    /// The time at which the page is made; nil where times are not compared with it.
    var now: Instant?

    /// The person whose request is answered.
    @TaskLocal static var current = Viewer()

    init() {}

    /// By the person's setting, otherwise by the zone that the browser's script says, otherwise UTC.
    init(of person: Person, in request: Request, at now: Instant) {
        let zone = person.timeZone ?? Cookie.zone.value(in: request) ?? ""
        self.zone = (try? ZoneInfo(zone, field: "")) ?? .utc
        self.now = now
    }
}

extension Instant {
    private var local: LocalTime { Viewer.current.zone.local(at: self) }

    /// Such as 2026-01-31 08:30.
    var minute: String { String(local.words.prefix(16)) }
    /// Such as 2026-01-31.
    var day: String { local.dayText }

    /// As a field for a time takes it: `2026-01-31T08:30`, with seconds and a fraction where there are any.
    var fieldText: String { fieldText(in: Viewer.current.zone) }

    fileprivate func fieldText(in zone: ZoneInfo) -> String {
        let local = zone.local(at: self)
        let rest = milliseconds - milliseconds.flooredQuotient(1_000) * 1_000
        let text = Instant(milliseconds: local.seconds * 1_000 + rest).text.dropLast()
        return String(text.hasSuffix(":00.000") ? text.dropLast(7) : text)
    }

    /// Such as “3 minutes ago”; nil where the time is months away.
    fileprivate var relative: String? {
        guard let now = Viewer.current.now else { return nil }
        let age = now - self
        let span = max(age, .zero - age)
        // What a page itself does is a little after its time.
        if span < .seconds(60) { return age >= .seconds(-5) ? "just now" : "in a moment" }
        guard span < .seconds(60 * 86_400) else { return nil }
        return age > .zero ? "\(span.inMinutes) ago" : "in \(span.inMinutes)"
    }
}

/// A time as pages show it: by the viewer's clock, and how long ago that was.
struct Moment: Component {
    let instant: Instant

    var content: [any HTML] {
        let zone = Viewer.current.zone
        Tag("time", ["datetime": instant.text, "title": "\(zone.local(at: instant).words) \(zone.name)"]) {
            instant.minute
            if let relative = instant.relative {
                " "
                Tag("small", relative)
            }
        }
    }
}

extension FormData {
    /// The hidden field of a form that says by which clocks its times were typed. A page may be older than the viewer's setting.
    static let zoneField = "zone"

    var zone: ZoneInfo { (try? ZoneInfo(self[Self.zoneField], field: Self.zoneField)) ?? Viewer.current.zone }

    /// The hidden field with the time that a field showed. The hour in which clocks are set back has each local time twice.
    static func shownField(of name: String) -> String { "\(name)_shown" }

    /// A time as browsers send it, by the clocks of the form; nil for an empty field. A text that was not changed is the time that was shown.
    func instant(_ name: String) throws(InvalidInput) -> Instant? {
        guard !self[name].isEmpty else { return nil }
        let typed = try Instant(local: self[name], in: zone, field: name)
        guard let shown = Instant(text: self[Self.shownField(of: name)]),
            shown.fieldText(in: zone) == typed.fieldText(in: zone)
        else { return typed }
        return shown
    }

    /// Puts a time, by the viewer's clock, in the place of the value that a field has.
    mutating func put(_ name: String, _ instant: Instant) {
        put(name, instant.fieldText)
        put(Self.shownField(of: name), instant.text)
    }

    /// Throws for a time zone that no database has. One that the form showed stays: an app may have reported it.
    func checkZone(shownBy form: Form) throws(InvalidInput) {
        let (name, zone) = ("time_zone", self["time_zone"])
        guard !zone.isEmpty, !form.fields.contains(where: { $0.name == name && $0.value == zone }) else { return }
        _ = try ZoneInfo(zone, field: name)
    }

    /// The beginning of a day by the viewer's clock; nil for an empty field.
    ///
    /// - Parameter days: counted on from the day of the field.
    func day(_ name: String, plus days: Int64 = 0) throws(InvalidInput) -> Instant? {
        guard !self[name].isEmpty else { return nil }
        let day = try Instant(day: self[name], field: name).milliseconds / 86_400_000
        return Viewer.current.zone.instant(of: LocalTime(day: day + days, second: 0))
    }
}
