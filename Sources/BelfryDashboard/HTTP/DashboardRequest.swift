import BelfryAPI
import BelfryService
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

    func uuid(_ part: String) -> UUID? { parameters.get(part).flatMap(UUID.init(uuidString:)) }

    func text(_ part: String) -> String {
        parameters.get(part).map { String(percentDecoding: $0[...], plusIsSpace: false) } ?? ""
    }

    func may(_ action: Permission.Action, _ subject: Permission.Subject) -> Bool {
        Permission.verdict(scope: person.scope, bounds: person.bounds, for: action, on: subject) == .allowed
    }

    /// Throws a 403 when the person may not do this, and a 404 when the thing is hidden from them.
    func require(_ action: Permission.Action, on subject: Permission.Subject, called thing: String) throws {
        switch Permission.verdict(scope: person.scope, bounds: person.bounds, for: action, on: subject) {
        case .allowed: return
        case .notFound: throw APIError.none(thing)
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
        var section = Section(text: text)
        section.facts = facts
        section.isDanger = true
        var answer = Form(request.uri.path, yes)
        answer.isDanger = true
        answer.hidden = form.typed.map { Form.Hidden(name: $0.name, value: $0.value) }
        answer.hidden.append(Form.Hidden(name: Self.confirmed, value: "yes"))
        section.form = answer
        section.links = [Link("Leave it as it is", home)]
        page.sections = [section]
        return .page(page)
    }

    /// The name of the hidden field.
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

    /// The number that a query gives for the next part of a list.
    func number(_ name: String) -> Int64? { Int64(query[name]).flatMap { $0 >= 0 ? $0 : nil } }
}

extension APIError {
    static func none(_ thing: String) -> APIError { APIError(.notFound, "There is no such \(thing)") }
}

/// The answer of a page.
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
    /// The longest body.
    var bodyBytesMax = 256 << 10

    func taking(bytes: Int) -> PageRoute {
        var route = self
        route.bodyBytesMax = bytes
        return route
    }
}
