import BelfryAPI
import BelfryService
import FoundationEssentials

/// Makes the routes of the pages: looks up the application or thing of the path, and checks the person's permission before the handler
/// runs.
struct RouteMaker: Sendable {
    let services: Dashboard.Services

    private var store: any Store { services.store }

    /// A path that names nothing: its handler calls `DashboardRequest.require` itself.
    func open(
        _ method: PageRoute.Method, _ path: String,
        _ handler: @escaping @Sendable (DashboardRequest) async throws -> PageAnswer
    ) -> PageRoute {
        PageRoute(method: method, path: path, answer: handler)
    }

    func application(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Application) async throws -> PageAnswer
    ) -> PageRoute {
        PageRoute(method: method, path: path.isEmpty ? "apps/:app_uuid" : "apps/:app_uuid/\(path)") { visit in
            guard let uuid = visit.uuid("app_uuid"), let application = try await store.application(uuid) else {
                throw APIError.none("app")
            }
            try visit.require(action, on: Permission.Subject(application), called: "app")
            return try await handler(visit, application)
        }
    }

    /// A platform of the application in the path.
    func platform(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Platform, Application) async throws -> PageAnswer
    ) -> PageRoute {
        application(method, "platforms/:platform_uuid\(path)", action) { visit, application in
            let platforms = try await store.platforms(of: application.key)
            guard let uuid = visit.uuid("platform_uuid"), let platform = platforms.first(where: { $0.uuid == uuid })
            else { throw APIError.none("platform") }
            return try await handler(visit, platform, application)
        }
    }

    /// A device of the application in the path, on any of its platforms.
    func device(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Device, Platform, Application) async throws -> PageAnswer
    ) -> PageRoute {
        application(method, "devices/:device_uuid\(path)", action) { visit, application in
            guard let uuid = visit.uuid("device_uuid"), let found = try await store.device(uuid, of: application.key)
            else { throw APIError.none("device") }
            return try await handler(visit, found.device, found.platform, application)
        }
    }

    /// A schedule of the application in the path.
    func schedule(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Schedule, Application) async throws -> PageAnswer
    ) -> PageRoute {
        application(method, "schedules/:schedule_id\(path)", action) { visit, application in
            guard let key = Key<Schedule>(id: visit.text("schedule_id")),
                let schedule = try await store.schedule(key, of: application.key)
            else { throw APIError.none("schedule") }
            return try await handler(visit, schedule, application)
        }
    }

    /// A push of the application in the path.
    func receipt(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Receipt, Application) async throws -> PageAnswer
    ) -> PageRoute {
        application(method, "pushes/:receipt_id\(path)", action) { visit, application in
            guard let id = visit.uuid("receipt_id"), let receipt = try await store.receipt(id),
                receipt.push.applicationKey == application.key
            else { throw APIError.none("push") }
            return try await handler(visit, receipt, application)
        }
    }
}

extension DashboardRequest {
    /// Shows the form again, as it was filled in, when its values are refused; any other error is the page's.
    ///
    /// - Parameters:
    ///   - page: the page with its form filled in and the fault at its field.
    ///   - work: what the form asks for.
    func trying(
        _ form: Form, names: [String: String] = [:], on page: (Form) async throws -> PageView,
        _ work: () async throws -> PageAnswer
    ) async throws -> PageAnswer {
        var form = form
        do {
            try form.demandUnchanged(since: self.form)
            return try await work()
        } catch is EditConflict {
            form.showConflict(with: self.form)
        } catch let fault as InvalidInput {
            form.keep(self.form)
            form.show(fault.problem, at: fault.field, names: names)
        } catch let fault as StoreError {
            guard let words = fault.words else { throw fault }
            form.keep(self.form)
            form.problem = words
        }
        return .invalid(try await page(form))
    }
}

extension StoreError {
    /// The text for the person who filled in the form; nil where it is no fault of theirs.
    fileprivate var words: String? {
        switch self {
        case .conflict(let words): words.prefix(1).uppercased() + words.dropFirst()
        case .quotaExceeded(let excess): excess.description
        case .unknown(let thing): "There is no \(thing)"
        case .taken: "That UUID is taken"
        case .unavailable, .damaged, .overloaded: nil
        }
    }
}
