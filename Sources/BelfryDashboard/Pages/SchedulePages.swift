import BelfryAPI
import BelfryCore
import FoundationEssentials

/// Schedules: those that wait, those that ended, and cancelling.
struct SchedulePages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.application(.get, "schedules", .read, list),
            make.application(.post, "schedules/:schedule_id/cancel", .send, cancel),
        ]
    }

    private static let perPage = 50

    @Sendable private func list(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        let store = visit.services.store
        let isEnded = visit.query["state"] == "ended"
        var last: Schedule?
        if let after = visit.number("after") { last = try await store.schedule(Key(after), of: application.key) }
        let found =
            isEnded
            ? try await store.endedSchedules(of: application.key, after: last, limit: Self.perPage)
            : try await store.schedules(of: application.key, after: last, limit: Self.perPage)
        var page = Self.page(
            application, found, isEnded: isEnded, maySend: visit.may(.send, Permission.Subject(application)))
        if found.count == Self.perPage, let last = found.last {
            page.sections[0].table?.next = Address.query(
                Address.of(application, "schedules"),
                [("state", visit.query["state"]), ("after", String(last.key.rawValue))])
        }
        switch visit.query["done"] {
        case "scheduled": page.notice = "Scheduled."
        case "cancelled": page.notice = "Cancelled: it is never sent."
        case "late": page.problem = "It does not wait any more."
        default: break
        }
        return .page(page)
    }

    static func page(_ application: Application, _ schedules: [Schedule], isEnded: Bool, maySend: Bool) -> PageView {
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
            "Schedules", [isEnded ? "Ended" : "Due", "Push", "Target", "State"],
            schedules.map { schedule in
                [
                    [.time(schedule.ending?.at ?? schedule.dueAt)], [.text(schedule.pushRequest.content.summary)],
                    [.text(schedule.pushRequest.target.words)], state(schedule, application),
                ]
            },
            forms: maySend && !isEnded
                ? schedules.map { schedule in
                    [
                        .button(
                            Address.of(application, "schedules", schedule.key.id, "cancel"), "Cancel", isDanger: true)
                    ]
                } : [],
            empty: isEnded
                ? "None has ended in the last 30 days." : "None waits. Give a push a time when you compose it.")
        page.sections = [section]
        return page
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

    @Sendable private func cancel(_ visit: Visit, _ application: Application) async throws -> PageAnswer {
        guard let key = Key<Schedule>(id: visit.text("schedule_id")),
            try await visit.services.store.schedule(key, of: application.key) != nil
        else { throw APIError.none("schedule") }
        let isCancelled = try await visit.services.pushes.cancel(key, of: application, by: visit.author)
        return .redirect(
            Address.query(Address.of(application, "schedules"), [("done", isCancelled ? "cancelled" : "late")]))
    }
}
