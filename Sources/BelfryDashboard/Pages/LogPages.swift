import BelfryAPI
import BelfryService
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// The events of an application's pushes while the page is open, and the stream that live pages follow.
struct LogPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [make.application(.get, "logs", .read, show), make.application(.get, "events", .read, follow)]
    }

    @Sendable private func show(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        let changes = try await visit.services.store.auditLog(
            AuditQuery(bounds: .application(application.key, of: application.tenantKey), limit: 25))
        let mayAdminister = visit.may(.administer, Permission.Subject(application))
        var page = Self.page(application, mayAdminister ? changes : nil)
        if visit.may(.administer, .everything) { page.actions = [Link("Server log", Address.path("admin", "logs"))] }
        return .page(page)
    }

    static func page(_ application: Application, _ changes: [AuditEntry]?) -> PageView {
        var page = PageView("Logs", lead: "What happens to pushes while this page is open.")
        page.crumbs = [Link(application.name, Address.of(application))]
        page.live = Address.of(application, "events")
        var events = Section("Live events")
        events.codeLabel = "log"
        events.code = " "
        page.sections = [events]
        if let changes {
            var section = Section("Latest changes")
            section.table = AuditPages.table(changes, empty: "Nothing was changed yet.")
            page.sections.append(section)
        }
        return page
    }

    @Sendable private func follow(_ visit: DashboardRequest, _ application: Application) async throws -> PageAnswer {
        guard let events = visit.services.events else { throw APIError.none("event stream") }
        return .response(
            try await visit.services.shares.streaming(.streams, for: visit.holder(application)) {
                let reader = try await events.subscribe(
                    to: application.key, after: visit.request.headers[.lastEventID])
                let (people, login) = (visit.services.people, visit.login)
                return EventStream(reader) {
                    // What cannot be asked right now ends nothing; the next time will tell.
                    (try? await people.may(.read, on: Permission.Subject(application), in: login)) ?? true
                }.response
            })
    }
}
