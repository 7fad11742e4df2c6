import FoundationEssentials

/// Schedules: a month of them, those that wait, those that ended, and one with what became of it.
struct SchedulePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "schedules", .read, list), make.schedule(.get, "", .read, show),
            make.schedule(.post, "/cancel", .send, cancel),
        ]
            + Schedule.Change.Verb.allCases.map { verb in
                make.schedule(.post, "/\(verb.rawValue)", .send) { try await perform(verb, $0, $1, $2) }
            }
    }

    private static let perPage = 50
    /// The most that a month of the calendar shows, of those that wait and of those that ended.
    private static let perMonth = 500

    // MARK: The list and the calendar

    @Sendable private func list(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let isEnded = visit.query["state"] == "ended"
        var last: Schedule?
        if let after = visit.number("after") { last = try await store.schedule(Key(after), of: application.key) }
        let found =
            isEnded
            ? try await store.endedSchedules(of: application.key, after: last, limit: Self.perPage)
            : try await store.schedules(of: application.key, after: last, limit: Self.perPage)
        var page = Self.page(
            application, found, try await receipts(of: found, in: store), isEnded: isEnded,
            maySend: visit.may(.send, Permission.Subject(application)))
        if found.count == Self.perPage, let last = found.last {
            page.sections[0].next = Address.query(
                Address.of(application, "schedules"),
                [("state", visit.query["state"]), ("after", String(last.key.rawValue))])
        }
        let month = Month(visit.query["month"]) ?? Month(of: visit.services.clock.now)
        page.sections.append(try await calendar(of: month, visit, application))
        switch visit.query["done"] {
        case "scheduled": page.notice = "Scheduled."
        case "cancelled": page.notice = "Cancelled: it is never sent."
        case "late": page.problem = "It is no longer waiting."
        default: break
        }
        return .page(page)
    }

    /// The receipts of those that were sent, as far as they are still there.
    private func receipts(of schedules: [Schedule], in store: any Store) async throws -> [UUID: Receipt] {
        var receipts: [UUID: Receipt] = [:]
        for schedule in schedules {
            guard case .sent(let id)? = schedule.ending?.how else { continue }
            receipts[id] = try await store.receipt(id)
        }
        return receipts
    }

    private func calendar(of month: Month, _ visit: DashboardRequest, _ application: Application) async throws
        -> Section
    {
        let store = visit.services.store
        let (waiting, ended) = try await visit.searching(application) {
            (
                try await store.schedules(
                    of: application.key, after: .placeholder(before: month.start, application), limit: Self.perMonth),
                try await store.endedSchedules(
                    of: application.key, after: .placeholder(endingBefore: month.end, application),
                    limit: Self.perMonth)
            )
        }
        let entries =
            waiting.filter { $0.dueAt < month.end }.map { $0.entry(at: $0.dueAt, in: application) }
            + ended.compactMap { schedule in
                schedule.ending.flatMap {
                    month.start <= $0.at && $0.at < month.end ? schedule.entry(at: $0.at, in: application) : nil
                }
            }
        let isCut = waiting.count == Self.perMonth || ended.count == Self.perMonth
        let more = "It shows \(Self.perMonth) that wait and \(Self.perMonth) that ended; the list has all."
        return Section("Calendar", text: isCut ? more : "") {
            Calendar(month, entries, today: visit.services.clock.now) { other in
                Address.query(
                    Address.of(application, "schedules"), [("state", visit.query["state"]), ("month", other.text)])
            }
        }
    }

    static func page(
        _ application: Application, _ schedules: [Schedule], _ receipts: [UUID: Receipt], isEnded: Bool, maySend: Bool
    ) -> PageView {
        let address = Address.of(application, "schedules")
        var page = PageView("Schedules", in: application) {
            Section {
                Table(
                    "Schedules",
                    [isEnded ? "Ended" : "Due", "Push", "Target", "State"]
                        + (isEnded ? ["#Devices", "#Accepted"] : []),
                    schedules.map { schedule in
                        let cells: [[Value]] = [
                            [.time(schedule.ending?.at ?? schedule.nextAt, none: "paused")],
                            [.link(schedule.pushRequest.content.summary, schedule.address(in: application))],
                            [.text(schedule.pushRequest.target.words)], state(schedule, application),
                        ]
                        return isEnded ? cells + counts(schedule, receipts) : cells
                    },
                    forms: maySend && !isEnded ? schedules.map { [cancelForm($0, application)] } : [],
                    empty: isEnded
                        ? "No schedule ended in the last 30 days."
                        : "Nothing is waiting. Set a time when you compose a push.")
            }
        }
        page.tabs = [
            Link("Waiting", address, isCurrent: !isEnded),
            Link("Ended", Address.query(address, [("state", "ended")]), isCurrent: isEnded),
        ]
        if maySend { page.actions = [Link("Compose a push", Address.of(application, "compose"), isMain: true)] }
        return page
    }

    private static func counts(_ schedule: Schedule, _ receipts: [UUID: Receipt]) -> [[Value]] {
        guard case .sent(let id)? = schedule.ending?.how, let receipt = receipts[id] else { return [[], []] }
        return [[.number(receipt.devices)], [.number(receipt.count(.accepted))]]
    }

    private static func cancelForm(_ schedule: Schedule, _ application: Application) -> Form {
        .button(Address.of(application, "schedules", schedule.key.id, "cancel"), "Cancel", isDanger: true)
    }

    private static func state(_ schedule: Schedule, _ application: Application) -> [Value] {
        if let ending = schedule.ending { return result(ending.how, application) }
        let words = schedule.recurrence?.words ?? schedule.reminders?.words ?? ""
        return [schedule.pausedAt == nil ? .badge("waiting", .calm) : .badge("paused", .warn), .text(words)]
    }

    private static func result(_ how: Schedule.How, _ application: Application) -> [Value] {
        switch how {
        case .missed: [.badge("missed", .warn)]
        case .started(let child):
            [.badge("started", .good), .link("its last time", Address.of(application, "schedules", child.id))]
        case .sent(let id):
            [.badge("sent", .good), .link("its push", Address.of(application, "pushes", id.lowercased))]
        case .cancelled: [.badge("cancelled", .calm)]
        case .expired: [.badge("expired", .warn)]
        case .refused(let words): [.badge("refused", .bad), .text(words)]
        case .needless(let words): [.badge("not needed", .calm), .text(words)]
        }
    }

    // MARK: One schedule

    @Sendable private func show(
        _ visit: DashboardRequest, _ schedule: Schedule, _ application: Application
    ) async throws -> PageAnswer {
        var page = try await page(of: schedule, visit, application).saying(
            visit,
            [
                "changed": "Saved.", "pause": "Paused: it is not sent until it is resumed.", "resume": "Resumed.",
                "skip-next": "Its next time is skipped.",
            ])
        if visit.query["done"] == "late" { page.problem = "It is no longer waiting." }
        return .page(page)
    }

    private func page(
        of schedule: Schedule, _ visit: DashboardRequest, _ application: Application
    ) async throws -> PageView {
        let receipt = try await receipts(of: [schedule], in: visit.services.store).values.first
        let platforms = try await visit.services.store.platforms(of: application.key)
        let runs = !schedule.isRepeated ? [] : try await visit.services.store.runs(of: schedule.key)
        var page = Self.page(
            schedule, application, receipt, platforms, maySend: visit.may(.send, Permission.Subject(application)))
        if let recurrence = schedule.recurrence {
            let times = schedule.times(atMost: 5, now: visit.services.clock.now)
            page.sections.insert(Self.times(recurrence, times), at: 1)
        }
        if schedule.isRepeated {
            page.sections.insert(Self.history(runs, application), at: schedule.recurrence == nil ? 1 : 2)
        }
        return page
    }

    private static func times(_ recurrence: Recurrence, _ times: [Instant]) -> Section {
        guard !recurrence.isLocal else {
            return Section("Next times") {
                Table(
                    "Next times", ["By the clock of each recipient", "First", "Last"],
                    times.map { time in
                        [
                            [.text(recurrence.localTime(at: time).words)], [.time(time)],
                            [.time(time + LocalDelivery.spread)],
                        ]
                    }, empty: "None.")
            }
        }
        return Section("Next times") {
            Table(
                "Next times", ["Time", "By the clocks of \(recurrence.zone.name)"],
                times.map { [[.time($0)], [.text(recurrence.zone.local(at: $0).text.replacing("T", with: " "))]] },
                empty: "None.")
        }
    }

    private static func history(_ runs: [ScheduleRun], _ application: Application) -> Section {
        Section("History", text: "The last \(ScheduleRun.keptMax) times.") {
            Table(
                "History", ["Due", "At", "Result"],
                runs.map { run in [[.time(run.dueAt)], [.time(run.at)], result(run, application)] },
                empty: "No time has passed yet.")
        }
    }

    /// A schedule that the time started is shown with its state; without a link once it is gone.
    private static func result(_ run: ScheduleRun, _ application: Application) -> [Value] {
        guard case .started(let child) = run.how else { return result(run.how, application) }
        let time = "\(ZoneInfo.earliest.local(at: run.dueAt).words) of each recipient"
        guard let state = run.childState else { return [.badge("ended", .calm), .text(time)] }
        let badge: Value =
            switch state {
            case "waiting": .badge("on its way", .calm)
            case "sent": .badge(state, .good)
            default: .badge(state, .warn)
            }
        return [badge, .link(time, Address.of(application, "schedules", child.id))]
    }

    /// Pauses or resumes the schedule, or skips its next time.
    private func perform(
        _ verb: Schedule.Change.Verb, _ visit: DashboardRequest, _ schedule: Schedule, _ application: Application
    ) async throws -> PageAnswer {
        do {
            let changed = try await visit.services.pushes.change(
                schedule.key, of: application, Schedule.Change(verb: verb), by: visit.author)
            let done = changed == nil ? "late" : verb.rawValue
            return .redirect(Address.query(schedule.address(in: application), [("done", done)]))
        } catch let fault as InvalidInput {
            var page = try await page(of: schedule, visit, application)
            page.problem = fault.description
            return .invalid(page)
        }
    }

    private static func verbs(_ schedule: Schedule, _ application: Application) -> [Form] {
        guard schedule.recurrence != nil else { return [] }
        let verbs: [(Schedule.Change.Verb, String)] =
            schedule.pausedAt == nil ? [(.pause, "Pause"), (.skipNext, "Skip the next")] : [(.resume, "Resume")]
        return verbs.map { verb, label in
            .button(Address.of(application, "schedules", schedule.key.id, verb.rawValue), label)
        }
    }

    static func page(
        _ schedule: Schedule, _ application: Application, _ receipt: Receipt?, _ platforms: [Platform], maySend: Bool
    ) -> PageView {
        let request = schedule.pushRequest
        var page = PageView(request.content.summary, in: application, "Schedules")
        if let receipt {
            page.stats = [
                Stat("Devices", receipt.devices, detail: receipt.isFannedOut ? "" : "so far"),
                Stat("Accepted", receipt.count(.accepted)), Stat("Not delivered", receipt.count(.failed)),
            ]
        }
        if maySend {
            let again = Address.query(Address.of(application, "compose"), [("schedule", schedule.key.id)])
            page.actions =
                schedule.ending == nil && schedule.reminders == nil
                ? [Link("Edit", Address.of(application, "schedules", schedule.key.id, "edit"), isMain: true)] : []
            if schedule.reminders == nil { page.actions.append(Link("Send an edited copy", again)) }
        }
        let facts = Section {
            Facts {
                Fact("State", state(schedule, application))
                Fact("Due", .time(schedule.nextAt, none: "paused"))
                schedule.local.map { Fact("Local time", .text($0.words)) }
                schedule.local?.parent.map { parent in
                    Fact("Time of", .link("a recurring schedule", Address.of(application, "schedules", parent.id)))
                }
                schedule.reminders.map { reminders in
                    Fact(
                        "Reminds of",
                        request.content.follows.map { first in
                            let id = first.receiptID.lowercased
                            return [.link(id, Address.of(application, "pushes", id)), .text(reminders.words)]
                        } ?? [])
                }
                request.content.pacing.reminders.flatMap { reminders in
                    schedule.reminders == nil ? Fact("Reminders", .text(reminders.words)) : nil
                }
                request.content.pacing.unlessSent.map { Fact("Only if", .text($0.words)) }
                schedule.recurrence.map { Fact("Repeats", .text($0.words)) }
                schedule.recurrence.map { Fact("Rule", .code($0.rule.text)) }
                schedule.recurrence.map {
                    Fact("Missed times", .text($0.missed == .skip ? "are skipped" : "one is sent late"))
                }
                Fact("Ended", .time(schedule.ending?.at, none: "not yet"))
                Fact("Target", .text(request.target.words))
                Fact("Expires", .time(request.expiresAt))
                Fact("Urgency", .text(request.lane?.word ?? "by the size of the audience"))
                Fact("Guarantee", .text(request.guarantee == .atLeastOnce ? "at least once" : "at most once"))
                Fact("Created", .time(schedule.createdAt))
                Fact("Id", .code(schedule.key.id))
            }
            if maySend, schedule.ending == nil {
                ButtonRow(verbs(schedule, application) + [cancelForm(schedule, application)])
            }
        }
        let kinds = request.target.platforms(of: platforms).filter { request.content.isMeant(for: $0.kind) }
        let looks = Preview.all(
            of: request.content, on: Set(kinds.map(\.kind)), for: application.name,
            at: schedule.nextAt ?? schedule.createdAt)
        page.sections = [facts]
        if !looks.isEmpty { page.sections.append(Section("How it looks") { Previews(looks) }) }
        page.sections.append(
            Section("Content") {
                Code("JSON", request.json(sendAt: schedule.dueAt, recurring: schedule.recurrence).pretty)
            })
        return page
    }

    private func question(
        before schedule: Schedule, _ visit: DashboardRequest, _ application: Application
    ) async throws -> PageAnswer? {
        guard visit.form[DashboardRequest.confirmed].isEmpty else { return nil }
        let request = schedule.pushRequest
        // A target that does not exist any more has no devices.
        let draft = try? await visit.services.pushes.preview(request, for: application.key)
        var devices = "not known"
        if let draft {
            devices = try await visit.searching(application) {
                try await AudienceCount.of(draft, in: visit.services.store).words
            }
        }
        return visit.question(
            "Cancel “\(request.content.summary)”?",
            (schedule.recurrence?.isLocal == true
                ? "It will never be sent, and recipients whose time has not come yet get nothing of the push that is on its way."
                : "It will never be sent.") + " It can be copied into a new one.",
            [
                Fact("Would go to", .badge(devices, .warn), .text(request.target.words)),
                Fact("Due", .time(schedule.nextAt, none: "paused")),
            ], yes: "Cancel it", no: schedule.address(in: application))
    }

    @Sendable private func cancel(
        _ visit: DashboardRequest, _ schedule: Schedule, _ application: Application
    ) async throws -> PageAnswer {
        if schedule.ending == nil, let question = try await question(before: schedule, visit, application) {
            return question
        }
        let isCancelled = try await visit.services.pushes.cancel(schedule.key, of: application, by: visit.author)
        return .redirect(
            Address.query(Address.of(application, "schedules"), [("done", isCancelled ? "cancelled" : "late")]))
    }
}

extension Schedule {
    func address(in application: Application) -> String { Address.of(application, "schedules", key.id) }

    fileprivate func entry(at time: Instant, in application: Application) -> Calendar.Entry {
        let tone: Value.Tone =
            switch ending?.how {
            case nil, .cancelled?, .needless?: .calm
            case .sent?, .started?: .good
            case .expired?, .missed?: .warn
            case .refused?: .bad
            }
        return Calendar.Entry(time, pushRequest.content.summary, address(in: application), tone)
    }

    /// Stands in a list before all that are due from a time on, or later keys of that time.
    static func placeholder(
        _ key: Key<Schedule> = Key(0), before time: Instant, _ application: Application
    ) -> Schedule {
        Schedule(
            key: key, applicationKey: application.key,
            pushRequest: PushRequest(content: Push.Content(body: nil), target: .everyone), dueAt: time,
            createdAt: time, version: 0, ending: nil)
    }

    /// Stands in a list before all that ended before a time.
    fileprivate static func placeholder(endingBefore time: Instant, _ application: Application) -> Schedule {
        placeholder(before: time, application).ended(.cancelled, at: time)
    }
}

/// A month by the viewer's clock, as a table of weeks.
struct Calendar: Component {
    private let month: Month
    private let previous: Link
    private let next: Link
    /// Days with their entries, from a Monday to a Sunday; nil before the month and after it.
    private let days: [(number: Int, isToday: Bool, entries: [Entry])?]

    /// An event at a time of a day.
    struct Entry: Component {
        let at: Instant
        let text: String
        let href: String
        let tone: Value.Tone

        init(_ at: Instant, _ text: String, _ href: String, _ tone: Value.Tone) {
            (self.at, self.text, self.href, self.tone) = (at, text, href, tone)
        }

        var content: [any HTML] {
            Tag("a", ["class": "badge \(tone.rawValue)", "href": href]) {
                Tag("span", String(at.minute.suffix(5)))
                " "
                Tag("span", ["dir": "auto"], text)
            }
        }
    }

    /// The most entries of a day that are named.
    private static let entriesMax = 4

    /// - Parameters:
    ///   - entries: of the month, in any order.
    ///   - link: the address of the same page for another month.
    init(_ month: Month, _ entries: [Entry], today: Instant, link: (Month) -> String) {
        self.month = month
        previous = Link("← \(month.previous.name)", link(month.previous))
        next = Link("\(month.next.name) →", link(month.next))
        let byDay = Dictionary(grouping: entries) { Int($0.at.day.suffix(2)) ?? 0 }
        let before = month.firstWeekday
        let cells = (before + month.days + 6) / 7 * 7
        days = (0..<cells).map { cell in
            let number = cell - before + 1
            guard 1...month.days ~= number else { return nil }
            return (
                number, month.day(number) == today.day, (byDay[number] ?? []).sorted { $0.at < $1.at }
            )
        }
    }

    var content: [any HTML] {
        Tag("nav", ["class": "row months", "aria-label": "Months"]) {
            previous.button(rel: "prev")
            Tag("b", month.name)
            next.button(rel: "next")
        }
        Tag("table", ["class": "calendar"]) {
            Tag("caption", month.name)
            Tag("thead") {
                Tag("tr") {
                    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map { Tag("th", ["scope": "col"], $0) }
                }
            }
            Tag("tbody") {
                for start in stride(from: 0, to: days.count, by: 7) {
                    Tag("tr") { days[start..<(start + 7)].map(cell) }
                }
            }
        }
    }

    private func cell(_ day: (number: Int, isToday: Bool, entries: [Entry])?) -> Tag {
        let entries = day?.entries ?? []
        let rest = entries.count - Self.entriesMax
        return Tag(
            "td", ["class": classes(day?.isToday == true ? "today" : nil, entries.isEmpty ? "none" : nil)]
        ) {
            // Narrow screens and screen readers get the day with the month.
            Tag(
                "span", ["class": "day", "data-label": day.map { "\($0.number) \(month.name)" } ?? ""],
                day.map { "\($0.number)" } ?? "")
            Array(entries.prefix(Self.entriesMax))
            Tag("small", rest > 0 ? "and \(rest) more" : "")
        }
    }
}

/// A month of a year, by the viewer's clock.
struct Month: Sendable, Hashable {
    let year: Int
    let number: Int

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let years = 1970...9998

    init(of instant: Instant) {
        year = min(max(Int(instant.day.prefix(4)) ?? 1970, Self.years.lowerBound), Self.years.upperBound)
        number = Int(instant.day.dropFirst(5).prefix(2)) ?? 1
    }

    /// From a text such as 2026-01; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2, let year = Int(parts[0]),
            let number = Int(parts[1]), Self.years.contains(year), 1...12 ~= number
        else { return nil }
        self.init(year: year, number: number)
    }

    /// Before the first month it is the first, and after the last month the last.
    private init(year: Int, number: Int) {
        self.year = min(max(year, Self.years.lowerBound), Self.years.upperBound)
        self.number = year == self.year ? number : 13 - number
    }

    var text: String { "\(year)-\(number < 10 ? "0" : "")\(number)" }
    var name: String { "\(Self.names[number - 1]) \(year)" }
    var previous: Month {
        number == 1 ? Month(year: year - 1, number: 12) : Month(year: year, number: number - 1)
    }
    var next: Month { number == 12 ? Month(year: year + 1, number: 1) : Month(year: year, number: number + 1) }
    var start: Instant { instant(after: 0) }
    /// The first moment after it.
    var end: Instant { instant(after: days) }
    var days: Int { Int(RFC3339.days(in: Int64(number), of: Int64(year))) }
    /// The weekday of the first day, counted from 0 for Monday.
    var firstWeekday: Int { LocalTime.weekday(of: firstDay) }
    private var firstDay: Int64 { RFC3339.days(Int64(year), Int64(number), 1) }

    private func instant(after days: Int) -> Instant {
        Viewer.current.zone.instant(of: LocalTime(day: firstDay + Int64(days), second: 0))
    }

    fileprivate func day(_ number: Int) -> String { "\(text)-\(number < 10 ? "0" : "")\(number)" }
}
