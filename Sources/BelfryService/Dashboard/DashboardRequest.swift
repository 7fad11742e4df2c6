import FoundationEssentials
import HTTPTypes
import Hummingbird

/// A request of a person who is logged in.
struct DashboardRequest: Sendable {
    let request: Request
    let context: APIContext
    let login: PersonService.Login
    let query: FormData
    /// The posted form, whose token was checked.
    var form = FormData()
    let services: Dashboard.Services

    var parameters: Parameters { context.parameters }
    var address: String? { services.requestLimiter.address(of: request, context)?.text }
    var person: Person { login.person }
    var author: AuditAuthor { AuditAuthor(person, address: address) }

    func uuid(_ part: String) -> UUID? { parameters.get(part).flatMap { UUID(text: $0) } }

    func text(_ part: String) -> String {
        parameters.get(part).map { String(percentDecoding: $0[...], plusIsSpace: false) } ?? ""
    }

    func may(_ action: Permission.Action, _ subject: Permission.Subject) -> Bool {
        person.may(action, subject)
    }

    /// Throws a 403 when the person may not do this, and a 404 when the thing is hidden from them.
    func require(_ action: Permission.Action, on subject: Permission.Subject, called thing: String) throws {
        switch Permission.verdict(scope: person.scope, bounds: person.bounds, for: action, on: subject) {
        case .allowed: return
        case .notFound: throw APIError.missing(thing)
        case .forbidden: throw APIError(.forbidden, "Your role, \(person.scope.rawValue), does not allow this")
        }
    }

    /// Asks before an action that cannot be undone, with the facts about it; nil once the person has said yes.
    ///
    /// - Parameters:
    ///   - facts: numbers, above all.
    ///   - home: where the person goes who leaves it as it is.
    func question(_ title: String, _ text: String, _ facts: [Fact], yes: String, no home: String) -> PageAnswer? {
        guard form[Self.confirmed].isEmpty else { return nil }
        var page = PageView(title)
        var answer = Form(
            request.uri.path, yes, hidden: form.typed.map { Form.Hidden(name: $0.name, value: $0.value) },
            isDanger: true)
        answer.hidden.append(Form.Hidden(name: Self.confirmed, value: "yes"))
        page.sections = [
            Section(text: text, style: .danger) {
                Facts(facts)
                answer
                ButtonRow([Link("Keep it as it is", home)])
            }
        ]
        return .page(page)
    }

    static let confirmed = "confirmed"

    /// Whether this is the person's password; wrong ones wait longer and longer, as at the login.
    func isPassword(_ password: String) async throws -> Bool {
        let name = "person \(person.email.text)"
        // By the session: a guesser elsewhere does not lock the person out.
        let device = login.session.key.rawValue.hashValue
        return try await services.requestLimiter.checkGuess(
            at: name, .password, device: device, of: request, context
        ) { caller in
            try await services.people.isPassword(password, of: person, for: caller) ? person : nil
        } != nil
    }

    /// The holder of shares for this person, who is counted as one key of the admin API.
    func holder(_ application: Application? = nil) -> ShareHolder {
        ShareHolder(
            application: application?.key, tenant: application?.tenantKey ?? person.bounds.tenant,
            key: Key(-person.key.rawValue))
    }

    func searching<Value>(_ application: Application?, _ body: () async throws -> Value) async throws -> Value {
        try await services.shares.holding(.searches, for: holder(application), body)
    }

    /// The address of the server, as the browser knows it.
    var serverURL: String { services.url(request, context) }

    /// Whether the address of the server is known, so that links that begin with it work elsewhere.
    var isAddressKnown: Bool { services.options.address.known(request, context) != nil }

    /// The number that a query gives for the next part of a list. Sums with it and products with small numbers do not overflow.
    func number(_ name: String) -> Int64? { Int64(query[name]).flatMap { $0 >= 0 ? min($0, .max >> 16) : nil } }
}

enum PageAnswer: Sendable {
    case page(PageView)
    /// The page again, with what is wrong in its form.
    case invalid(PageView)
    /// A page that says what the form did: it is kept, and the browser is sent to it.
    case outcome(PageView)
    /// Sends the browser to a page of the dashboard.
    case redirect(String)
    case response(Response)
}

/// One method of one path of the dashboard.
struct PageRoute: Sendable {
    enum Method: String, Sendable { case get, post }

    let method: Method
    /// The path below `/dashboard`.
    let path: String
    let answer: @Sendable (DashboardRequest) async throws -> PageAnswer
    var bodyBytesMax = 256 << 10

    func taking(bytes: Int) -> PageRoute {
        var route = self
        route.bodyBytesMax = bytes
        return route
    }
}

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
                throw APIError.missing("app")
            }
            try visit.require(action, on: Permission.Subject(application), called: "app")
            return try await handler(visit, application)
        }
    }

    /// A thing of the application in the path.
    private func thing<Thing>(
        _ name: String, _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ find: @escaping @Sendable (DashboardRequest, Application) async throws -> Thing?,
        _ handler: @escaping @Sendable (DashboardRequest, Thing, Application) async throws -> PageAnswer
    ) -> PageRoute {
        application(method, path, action) { visit, application in
            guard let thing = try await find(visit, application) else { throw APIError.missing(name) }
            return try await handler(visit, thing, application)
        }
    }

    func platform(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Platform, Application) async throws -> PageAnswer
    ) -> PageRoute {
        thing(
            "platform", method, "platforms/:platform_uuid\(path)", action,
            { visit, application in
                let uuid = visit.uuid("platform_uuid")
                return try await store.platforms(of: application.key).first { $0.uuid == uuid }
            }, handler)
    }

    /// A device on any platform of the application.
    func device(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Device, Platform, Application) async throws -> PageAnswer
    ) -> PageRoute {
        thing(
            "device", method, "devices/:device_uuid\(path)", action,
            { visit, application -> (device: Device, platform: Platform)? in
                guard let uuid = visit.uuid("device_uuid") else { return nil }
                return try await store.device(uuid, of: application.key)
            }, { try await handler($0, $1.device, $1.platform, $2) })
    }

    func schedule(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Schedule, Application) async throws -> PageAnswer
    ) -> PageRoute {
        thing(
            "schedule", method, "schedules/:schedule_id\(path)", action,
            { visit, application in
                guard let key = Key<Schedule>(id: visit.text("schedule_id")) else { return nil }
                return try await store.schedule(key, of: application.key)
            }, handler)
    }

    func receipt(
        _ method: PageRoute.Method, _ path: String, _ action: Permission.Action,
        _ handler: @escaping @Sendable (DashboardRequest, Receipt, Application) async throws -> PageAnswer
    ) -> PageRoute {
        thing(
            "push", method, "pushes/:receipt_id\(path)", action,
            { visit, application in
                guard let id = visit.uuid("receipt_id"), let receipt = try await store.receipt(id) else { return nil }
                return receipt.push.applicationKey == application.key ? receipt : nil
            }, handler)
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
            keep(&form)
            form.show(fault.problem, at: fault.field, names: names)
        } catch let fault as StoreError {
            guard let words = fault.words else { throw fault }
            keep(&form)
            form.problem = words
        }
        return .invalid(try await page(form))
    }

    private func keep(_ form: inout Form) { form.keep(self.form) { KeptFile($0, of: self) } }
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
