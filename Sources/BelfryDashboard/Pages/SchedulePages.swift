import BelfryAPI
import BelfryService
import FoundationEssentials

/// Schedules: a month of them, those that wait, those that ended, and one with what became of it.
struct SchedulePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "schedules", .read, list), make.schedule(.get, "", .read, show),
            make.schedule(.post, "/cancel", .send, cancel),
        ]
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
            page.sections[0].table?.next = Address.query(
                Address.of(application, "schedules"),
                [("state", visit.query["state"]), ("after", String(last.key.rawValue))])
        }
        let month = Month(visit.query["month"]) ?? Month(of: visit.services.clock.now)
        page.sections.append(try await calendar(of: month, visit, application))
        switch visit.query["done"] {
        case "scheduled": page.notice = "Scheduled."
        case "cancelled": page.notice = "Cancelled: it is never sent."
        case "late": page.problem = "It does not wait any more."
        default: break
        }
        return .page(page)
    }

    /// The receipts of those that were sent, as far as they are still there.
    private func receipts(of schedules: [Schedule], in store: any PushStore) async throws -> [UUID: Receipt] {
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
        var section = Section("Calendar", text: "Days and times are UTC.")
        section.calendar = Calendar(month, entries, today: visit.services.clock.now) { other in
            Address.query(
                Address.of(application, "schedules"), [("state", visit.query["state"]), ("month", other.text)])
        }
        if waiting.count == Self.perMonth || ended.count == Self.perMonth {
            section.text += " It shows \(Self.perMonth) that wait and \(Self.perMonth) that ended; the list has all."
        }
        return section
    }

    static func page(
        _ application: Application, _ schedules: [Schedule], _ receipts: [UUID: Receipt], isEnded: Bool, maySend: Bool
    ) -> PageView {
        var page = PageView("Schedules")
        let address = Address.of(application, "schedules")
        page.crumbs = [Link(application.name, Address.of(application))]
        page.tabs = [
            Link("Waiting", address, isCurrent: !isEnded),
            Link("Ended", Address.query(address, [("state", "ended")]), isCurrent: isEnded),
        ]
        if maySend { page.actions = [Link("Compose a push", Address.of(application, "compose"), isMain: true)] }
        var section = Section()
        section.table = Table(
            "Schedules",
            [isEnded ? "Ended" : "Due", "Push", "Target", "State"] + (isEnded ? ["#Devices", "#Accepted"] : []),
            schedules.map { schedule in
                let cells: [[Value]] = [
                    [.time(schedule.ending?.at ?? schedule.dueAt)],
                    [.link(schedule.pushRequest.content.summary, schedule.address(in: application))],
                    [.text(schedule.pushRequest.target.words)], state(schedule, application),
                ]
                return isEnded ? cells + counts(schedule, receipts) : cells
            },
            forms: maySend && !isEnded ? schedules.map { [cancelForm($0, application)] } : [],
            empty: isEnded
                ? "None has ended in the last 30 days." : "None waits. Give a push a time when you compose it.")
        page.sections = [section]
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
        switch schedule.ending?.how {
        case nil: [.badge("waiting", .calm)]
        case .sent(let id)?:
            [.badge("sent", .good), .link("its push", Address.of(application, "pushes", id.lowercased))]
        case .cancelled?: [.badge("cancelled", .calm)]
        case .expired?: [.badge("expired", .warn)]
        case .refused(let words)?: [.badge("refused", .bad), .text(words)]
        }
    }

    // MARK: One schedule

    @Sendable private func show(
        _ visit: DashboardRequest, _ schedule: Schedule, _ application: Application
    ) async throws -> PageAnswer {
        let receipt = try await receipts(of: [schedule], in: visit.services.store).values.first
        let platforms = try await visit.services.store.platforms(of: application.key)
        var page = Self.page(
            schedule, application, receipt, platforms, maySend: visit.may(.send, Permission.Subject(application)))
        if visit.query["done"] == "changed" { page.notice = "Saved." }
        return .page(page)
    }

    static func page(
        _ schedule: Schedule, _ application: Application, _ receipt: Receipt?, _ platforms: [Platform], maySend: Bool
    ) -> PageView {
        let request = schedule.pushRequest
        var page = PageView(request.content.summary)
        page.crumbs = [
            Link(application.name, Address.of(application)),
            Link("Schedules", Address.of(application, "schedules")),
        ]
        if let receipt {
            page.stats = [
                Stat("Devices", receipt.devices, detail: receipt.isFannedOut ? "" : "so far"),
                Stat("Accepted", receipt.count(.accepted)), Stat("Not delivered", receipt.count(.failed)),
            ]
        }
        if maySend {
            let again = Address.query(Address.of(application, "compose"), [("schedule", schedule.key.id)])
            page.actions =
                schedule.ending == nil
                ? [Link("Change it", Address.of(application, "schedules", schedule.key.id, "edit"), isMain: true)] : []
            page.actions.append(Link("Send again, changed", again))
        }
        var facts = Section()
        facts.facts = [
            Fact("State", state(schedule, application)), Fact("Due", .time(schedule.dueAt)),
            Fact("Ended", .time(schedule.ending?.at, none: "not yet")),
            Fact("Target", .text(request.target.words)), Fact("Expires", .time(request.expiresAt)),
            Fact("Urgency", .text(request.lane?.word ?? "by the size of the audience")),
            Fact("Guarantee", .text(request.guarantee == .atLeastOnce ? "at least once" : "at most once")),
            Fact("Created", .time(schedule.createdAt)), Fact("Id", .code(schedule.key.id)),
        ]
        if maySend, schedule.ending == nil { facts.buttons = [cancelForm(schedule, application)] }
        let kinds = request.target.platforms(of: platforms).filter { request.content.isMeant(for: $0.kind) }
        var looks = Section("How it looks")
        looks.previews = Preview.all(
            of: request.content, on: Set(kinds.map(\.kind)), for: application.name, at: schedule.dueAt)
        var content = Section("Content")
        (content.codeLabel, content.code) = ("JSON", request.json(sendAt: schedule.dueAt).pretty)
        page.sections = [facts] + (looks.previews.isEmpty ? [] : [looks]) + [content]
        return page
    }

    private func question(
        before schedule: Schedule, _ visit: DashboardRequest, _ application: Application
    ) async throws -> PageAnswer? {
        guard visit.form[DashboardRequest.confirmed].isEmpty else { return nil }
        let request = schedule.pushRequest
        // A target that does not exist any more has no devices.
        let draft = try? await visit.services.pushes.draft(request, for: application.key)
        var devices = "not known"
        if let draft {
            devices = try await visit.searching(application) {
                try await AudienceCount.of(draft, in: visit.services.store).words
            }
        }
        return visit.question(
            "Cancel “\(request.content.summary)”?", "It is never sent then. It can be copied into a new one.",
            [
                Fact("Would go to", .badge(devices, .warn), .text(request.target.words)),
                Fact("Due", .time(schedule.dueAt)),
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
            case nil, .cancelled?: .calm
            case .sent?: .good
            case .expired?: .warn
            case .refused?: .bad
            }
        return Calendar.Entry(time, pushRequest.content.summary, address(in: application), tone)
    }

    /// Stands in a list before all that are due from a time on.
    fileprivate static func placeholder(before time: Instant, _ application: Application) -> Schedule {
        Schedule(
            key: Key(0), applicationKey: application.key,
            pushRequest: PushRequest(content: Push.Content(body: nil), target: .everyone), dueAt: time,
            createdAt: time, version: 0, ending: nil)
    }

    /// Stands in a list before all that ended before a time.
    fileprivate static func placeholder(endingBefore time: Instant, _ application: Application) -> Schedule {
        placeholder(before: time, application).ended(.cancelled, at: time)
    }
}
