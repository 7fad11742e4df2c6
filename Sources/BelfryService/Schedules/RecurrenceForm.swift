/// The fields of Compose for a push that is sent again and again: a plain choice, or a rule.
enum RecurrenceForm {
    static let group = FieldGroup(
        "Repeat",
        text:
            "By the clocks of a time zone or of each recipient. Each time goes to those who are in the audience by then.",
        [
            .select(
                "repeat", "It is sent", "",
                [
                    ("", "Once"), ("daily", "Every day"), ("weekly", "Every week"), ("monthly", "Every month"),
                    ("rule", "By a rule (RRULE)"),
                ]),
            .text(
                "start", "First day, and the time of each day", hint: "In the time zone below.", type: "datetime-local"
            ).only(for: "repeat", each),
            .text("time_zone", "Time zone", hint: "Such as Europe/Vienna, or UTC.").only(for: "repeat", each),
            .check(
                "repeat_local", "By the clock of each recipient",
                hint:
                    "Each time goes round the world in up to 26 hours. The time zone is that of devices where none is known."
            ).only(for: "repeat", each),
            .select(
                "repeat_past", "Where the first time is past", "",
                [("", "Do not send it"), ("send", "Send it at once"), ("next_day", "Send it the next day")],
                hint: "By the clock of each recipient."
            ).only(for: "repeat", each),
            .text("interval", "Every … days, weeks or months", hint: "Empty: each.", type: "number")
                .only(for: "repeat", ["daily", "weekly", "monthly"]),
        ]
            + zip(RecurrenceRule.weekdays, weekdays).map {
                Field.check("day-\($0)", "On \($1)s").only(for: "repeat", ["weekly"])
            }
            + [
                .select(
                    "month_day", "Every month", "",
                    [
                        ("", "On the date of the first day"), ("last", "On its last day"),
                        ("weekday", "On the weekday of the first day, such as the 2nd Monday"),
                        ("last_weekday", "On its last such weekday"),
                    ]
                ).only(for: "repeat", ["monthly"]),
                .text("until", "Last day", hint: "Empty: it goes on.", type: "date").only(for: "repeat", each),
                .area("except", "Not on", hint: "Days such as 2026-12-24, one a line.").only(for: "repeat", each),
                .select(
                    "missed", "Times that pass while the server is down", "",
                    [("", "Send one, as soon as it runs"), ("skip", "Skip them")]
                ).only(for: "repeat", each),
                .text("rule", "Rule", hint: "For “By a rule”: such as FREQ=MONTHLY;BYDAY=1MO,-1FR;COUNT=12.")
                    .only(for: "repeat", ["rule"]),
            ], isFolding: true)

    /// Every choice but "Once".
    private static let each = ["daily", "weekly", "monthly", "rule"]

    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

    /// The fields of the form for fields that errors name.
    static let names = [
        "recurrence": "repeat", "recurrence.rule": "rule", "recurrence.start": "start",
        "recurrence.time_zone": "time_zone", "recurrence.except": "except", "recurrence.past": "repeat_past",
    ]

    /// The recurrence as the admin API takes it; nil for once. Throws where a field is filled in that the choice leaves out.
    static func recurrence(_ form: FormData) throws(InvalidInput) -> JSONValue? {
        let choice = form["repeat"]
        try check(form, choice)
        guard !choice.isEmpty else { return nil }
        var members: JSONObject = ["rule": .string(choice == "rule" ? form["rule"] : try rule(form, choice))]
        let start = form["start"]
        members["start"] = .string(start.utf8.count == 19 && start.hasSuffix(":00") ? String(start.dropLast(3)) : start)
        let isLocal = form.isChecked("repeat_local")
        if isLocal { members["local"] = .bool(true) }
        if !isLocal || !form["time_zone"].isEmpty { members["time_zone"] = .string(form["time_zone"]) }
        if !form["repeat_past"].isEmpty { members["past"] = .string(form["repeat_past"]) }
        let except = form.list("except")
        if !except.isEmpty { members["except"] = .strings(except) }
        if !form["missed"].isEmpty { members["missed"] = .string(form["missed"]) }
        return .object(members)
    }

    private static func check(_ form: FormData, _ choice: String) throws(InvalidInput) {
        let days = RecurrenceRule.weekdays.map { "day-\($0)" }
        let common = ["start", "time_zone", "repeat_local", "repeat_past", "except", "missed"]
        let plain = common + ["interval", "until"]
        let all = plain + ["month_day", "rule"] + days
        let taken: [String: [String]] = [
            "": [], "daily": plain, "weekly": plain + days, "monthly": plain + ["month_day"], "rule": common + ["rule"],
        ]
        guard let taken = taken[choice] else {
            throw InvalidInput(field: "repeat", "has to be once, daily, weekly, monthly or rule")
        }
        for name in all where !form[name].isEmpty && !taken.contains(name) {
            throw InvalidInput(
                field: name, "is filled in, and what is chosen above leaves it out: choose another, or empty this field"
            )
        }
        guard choice.isEmpty || form["send_at"].isEmpty else {
            throw InvalidInput(field: "send_at", "is filled in, but the push repeats: its first time stands there")
        }
    }

    private static func rule(_ form: FormData, _ choice: String) throws(InvalidInput) -> String {
        var parts = ["FREQ=\(choice.uppercased())"]
        if !form["interval"].isEmpty { parts.append("INTERVAL=\(form["interval"])") }
        let days = RecurrenceRule.weekdays.filter { form.isChecked("day-\($0)") }
        if !days.isEmpty { parts.append("BYDAY=\(days.joined(separator: ","))") }
        if choice == "monthly", !form["month_day"].isEmpty { parts.append(try monthDay(form)) }
        if !form["until"].isEmpty { parts.append("UNTIL=\(form["until"].filter { $0 != "-" })") }
        return parts.joined(separator: ";")
    }

    private static func monthDay(_ form: FormData) throws(InvalidInput) -> String {
        let day = try LocalTime(form["start"], field: "start").day
        let (weekday, date) = (RecurrenceRule.weekdays[LocalTime.weekday(of: day)], RFC3339.date(day).2)
        return switch form["month_day"] {
        case "last": "BYMONTHDAY=-1"
        case "weekday": "BYDAY=\((date - 1) / 7 + 1)\(weekday)"
        default: "BYDAY=-1\(weekday)"
        }
    }

    /// Fills in the fields that give the recurrence again: the plain choice where there is one.
    static func show(_ recurrence: JSONValue?, in data: inout FormData) {
        guard let recurrence, let text = recurrence["rule"]?.stringValue else { return }
        var filled = data
        for (member, field) in [("start", "start"), ("time_zone", "time_zone")] {
            filled.put(field, recurrence[member]?.stringValue ?? "")
        }
        if case .array(let days)? = recurrence["except"] {
            filled.put("except", days.compactMap(\.stringValue).joined(separator: "\n"))
        }
        if recurrence["missed"]?.stringValue == "skip" { filled.put("missed", "skip") }
        if recurrence["local"] == .bool(true) { filled.put("repeat_local", "yes") }
        if let past = recurrence["past"]?.stringValue, past != "skip" { filled.put("repeat_past", past) }
        data = plain(text, filled) ?? filled
        guard data["repeat"].isEmpty else { return }
        data.put("repeat", "rule")
        data.put("rule", text)
    }

    /// The plain choice that gives a rule; nil where there is none.
    private static func plain(_ text: String, _ filled: FormData) -> FormData? {
        guard let rule = try? RecurrenceRule(text, field: "rule") else { return nil }
        var data = filled
        data.put("repeat", rule.days.frequency.lowercased())
        if rule.interval > 1 { data.put("interval", "\(rule.interval)") }
        if case .day(let day)? = rule.end { data.put("until", LocalTime(day: day, second: 0).dayText) }
        if case .weekly(let days) = rule.days { days.forEach { data.put("day-\(RecurrenceRule.weekdays[$0])", "yes") } }
        let choices = if case .monthly = rule.days { ["", "last", "weekday", "last_weekday"] } else { [""] }
        for choice in choices {
            if !choice.isEmpty { data.put("month_day", choice) }
            guard let written = try? recurrence(data)?["rule"]?.stringValue else { continue }
            if let same = try? RecurrenceRule(written, field: "rule"), same == rule { return data }
        }
        return nil
    }
}
