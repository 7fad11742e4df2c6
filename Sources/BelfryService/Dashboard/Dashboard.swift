import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Logging
import NIOCore

/// The dashboard: pages for people, served under `/dashboard`.
///
/// A page calls the services that the admin API calls, in the name of the person who is logged in, and makes a `PageView` of
/// what they return, whose components write themselves as HTML.
package enum Dashboard {
    package static let root = "dashboard"

    /// The services that the pages call.
    package struct Services: Sendable {
        let all: BelfryService.Services
        let people: PersonService
        /// nil leaves live pages out.
        let events: EventHub?
        let server: any ServerInspector
        let options: Options
        let issuers: [IssuerClient]

        package init(
            _ all: BelfryService.Services, people: PersonService, events: EventHub?, server: any ServerInspector,
            options: Options,
            callIssuer: @escaping IssuerCall = { _ in throw SignOnFault("No issuer can be reached.") }
        ) {
            issuers = options.issuers.map { IssuerClient($0, call: callIssuer, clock: all.clock) }
            self.all = all
            self.people = people
            self.events = events
            self.server = server
            self.options = options
        }

        var store: any Store { all.store }
        var vault: any Vault { all.vault }
        var clock: any WallClock { all.clock }
        var requestLimiter: RequestLimiter { all.requestLimiter }
        var shares: ConcurrencyLimiter { all.shares }
        var admin: AdminService { all.admin }
        var pushes: PushService { all.pushes }

        /// The address of the server, as browsers know it.
        func url(_ request: Request, _ context: APIContext) -> String {
            options.address.url(request, context, cameByTLS: cameByTLS(request, context))
        }

        /// Whether the browser speaks TLS to a proxy that is trusted.
        func cameByTLS(_ request: Request, _ context: APIContext) -> Bool {
            requestLimiter.forwarded(.scheme, of: request, context) == "https"
        }

        /// Sets a cookie. It is for TLS alone where browsers speak it: as the public URL says, or else the listener or a trusted proxy.
        func set(
            _ cookie: Cookie, _ value: String, seconds: Int64, in response: inout Response, _ request: Request,
            _ context: APIContext
        ) {
            let isSecure =
                options.address.publicURL?.hasPrefix("https://")
                ?? (options.address.isSecure || cameByTLS(request, context))
            let text = cookie.header(value, seconds: seconds, below: options.address.path, isSecure: isSecure)
            response.headers.append(HTTPField(name: .setCookie, value: text))
        }

        /// Throws a 403 for a form that a page of another site sent.
        func demandOwnPage(_ request: Request, _ context: APIContext) throws(APIError) {
            let host = requestLimiter.forwarded(.host, of: request, context)
            guard !request.isFromElsewhere(than: options.address, host: host, context) else {
                throw APIError(.forbidden, "The form was sent from a page of another site")
            }
        }
    }

    package struct Options: Sendable {
        /// The address at which browsers find the server.
        package var address: ServerAddress
        /// The version of the server.
        package var release: String
        /// How long a test push waits for its provider.
        package var verdictDeadline: Duration
        /// How long a browser keeps the session's cookie.
        package var lifetime: SessionLifetime
        /// Whether the same listener serves the web SDK, whose test page a platform's page links to.
        package var hasTestPage: Bool
        /// Identity providers by which people log in, besides passwords.
        package var issuers: [Issuer]
        /// Whether people log in by passwords.
        package var takesPasswords: Bool
        /// The time from one heartbeat push to the next; nil where none is sent.
        package var heartbeatPeriod: Duration?
        /// nil draws maps on an outline of the world, and asks no other server for anything.
        package var mapTiles: MapTiles?

        package init(
            address: ServerAddress = ServerAddress(), release: String = "", verdictDeadline: Duration = .seconds(10),
            lifetime: SessionLifetime = SessionLifetime(), hasTestPage: Bool = true, issuers: [Issuer] = [],
            takesPasswords: Bool = true, heartbeatPeriod: Duration? = nil,
            mapTiles: MapTiles? = nil
        ) {
            self.issuers = issuers
            self.takesPasswords = takesPasswords
            self.address = address
            self.release = release
            self.verdictDeadline = verdictDeadline
            self.lifetime = lifetime
            self.hasTestPage = hasTestPage
            self.heartbeatPeriod = heartbeatPeriod
            self.mapTiles = mapTiles
        }
    }
}

/// The routes of the dashboard.
package struct DashboardRoutes: Sendable {
    private let services: Dashboard.Services
    private let loginRoutes: LoginRoutes
    private let once: SingleUse

    package init(_ services: Dashboard.Services) throws {
        self.services = services
        once = SingleUse(services: services)
        loginRoutes = LoginRoutes(services: services)
    }

    package func add(to router: Router<APIContext>) {
        let pages = Router(context: APIContext.self)
        for route in routes where route.method == .get {
            pages.on(
                Self.path(of: route), method: .get, use: handler(route) { _, _, _ in throw APIError.missing("page") })
        }
        let responder = pages.buildResponder()
        let resume: HeldForm.Resume = { held, request, context in
            try await HeldForm.$current.withValue(held) { try await responder.respond(to: request, context: context) }
        }
        loginRoutes.add(to: router, resume: resume)
        for (_, routes) in Dictionary(grouping: routes, by: \.path) {
            var handlers: [HTTPRequest.Method: Router<APIContext>.Handler] = [:]
            for route in routes { handlers[route.method == .get ? .get : .post] = handler(route, resume) }
            router.servePages(Self.path(of: routes[0]), handlers)
        }
        // Browsers at the server's bare address are sent to the dashboard; a program gets a 404.
        let home: Router<APIContext>.Handler = { request, _ in
            guard request.headers[.accept]?.contains("text/html") == true else {
                throw APIError(
                    .notFound,
                    "There is nothing at '/': SDKs register at '/v1/registration', people find the dashboard at '\(Dashboard.root)'"
                )
            }
            return Response.seeOther(Address.path())
        }
        router.on("/", method: .get, use: home)
        router.on("/", method: .head) { try await home($0, $1).createHeadResponse() }
        for name in Asset.names {
            router.serve(
                RouterPath("\(Dashboard.root)/assets/\(name)"), [.get: { _, _ in try AssetResponse.make(name) }])
        }
        router.servePages(RouterPath("\(Dashboard.root)/**"), [.get: missing])
    }

    private static func path(of route: PageRoute) -> RouterPath {
        RouterPath(route.path.isEmpty ? Dashboard.root : "\(Dashboard.root)/\(route.path)")
    }

    /// The method and path of every route that needs a login, below `/dashboard`.
    package var paths: [(isPost: Bool, path: String)] { routes.map { ($0.method == .post, $0.path) } }

    private var routes: [PageRoute] {
        let make = RouteMaker(services: services)
        return make.pages + [make.open(.get, "result/:result_id") { try await once.result($0) }]
    }

    private func handler(_ route: PageRoute, _ resume: @escaping HeldForm.Resume) -> Router<APIContext>.Handler {
        { request, context in
            let isUse = request.headers[.refresh] == nil && request.headers[.accept] != "text/event-stream"
            guard let token = Cookie.session.value(in: request),
                let login = try await services.people.login(token: token, isUse: isUse)
            else {
                guard route.method == .post else { return loginRoutes.askForLogin(request) }
                return try await loginRoutes.askForLogin(holding: request, context)
            }
            let viewer = Viewer(of: login.person, in: request, at: services.clock.now)
            return try await Viewer.$current.withValue(viewer) {
                try await answer(route, request, context, login, resume)
            }
        }
    }

    private func answer(
        _ route: PageRoute, _ request: Request, _ context: APIContext, _ login: PersonService.Login,
        _ resume: HeldForm.Resume
    ) async throws -> Response {
        do {
            try services.requestLimiter.admit(Principal(.admin, -login.person.key.rawValue))
            let visit = DashboardRequest(
                request: request, context: context, login: login,
                query: try FormData(urlEncoded: request.uri.query ?? ""), services: services)
            guard route.method == .post else { return await render(try await route.answer(visit), visit) }
            return try await services.shares.uploading(request, atMost: route.bodyBytesMax, for: visit.holder()) {
                var posted = visit
                try services.demandOwnPage(request, context)
                posted.form = try await PostedForm.fields(of: request, atMost: route.bodyBytesMax)
                guard FormToken.isRight(posted.form.raw("csrf"), for: login.token) else {
                    guard
                        let again = await shownAgain(posted, HeldForm.ofAnEarlierLogin, .forbidden, resume)
                    else { throw PostedForm.outOfDate }
                    return again
                }
                try posted.form.restoreFiles(of: posted.person, by: services.vault)
                do {
                    return await render(
                        try await once.run(
                            posted, show: { [posted] in rendered($0, await shell(posted)).text }, route.answer),
                        posted)
                } catch is SingleUse.OtherValues {
                    if let again = await shownAgain(posted, SingleUse.doneBefore, .unprocessableContent, resume) {
                        return again
                    }
                    return await render(.invalid(SingleUse.doneBeforePage(posted)), posted)
                }
            }
        } catch {
            return try await failure(error, request, login, context)
        }
    }

    /// A form that was not taken, filled in as it was sent but for passwords and files, on its page; nil where that cannot be shown.
    private func shownAgain(
        _ posted: DashboardRequest, _ notice: String, _ status: HTTPResponse.Status, _ resume: HeldForm.Resume
    ) async -> Response? {
        let request = posted.request
        guard var held = HeldForm(posted.form, to: request.uri.path, by: services.people),
            held.person == posted.person.key
        else { return nil }
        held.notice = notice
        guard var response = try? await resume(held, held.request(like: request), posted.context),
            response.status == .ok
        else { return nil }
        response.status = status
        return response
    }

    private func render(_ answer: PageAnswer, _ visit: DashboardRequest) async -> Response {
        switch answer {
        case .page(let page), .outcome(let page):
            html(visit.query[SingleUse.repeated] == "1" ? page.saying(SingleUse.doneOnce) : page, await shell(visit))
        case .invalid(let page): html(page, await shell(visit), status: .unprocessableContent)
        case .redirect(let path): .seeOther(path)
        case .response(let response): response
        }
    }

    private func html(_ page: PageView, _ shell: Shell, status: HTTPResponse.Status = .ok) -> Response {
        let page = HeldForm.current?.fill(page) ?? page
        let rendered = rendered(page, shell)
        return Response.html(
            rendered.text, status: status, pictures: rendered.hasTiles ? services.options.mapTiles?.origin : nil)
    }

    private func rendered(_ page: PageView, _ shell: Shell) -> HTMLWriter {
        var shell = shell
        shell.key = SingleUse.newKey()
        return shell.render(page)
    }

    private func shell(_ visit: DashboardRequest) async -> Shell {
        var shell = await shell(
            visit.login, app: visit.parameters.get("app_uuid") ?? visit.query["app"], visit.request)
        // A form that was not taken stands on the page that it was sent from, as after a login.
        if let held = HeldForm(visit.form, to: visit.request.uri.path, by: services.people),
            held.person == visit.person.key
        {
            (shell.page, shell.proof) = held.mark
        }
        return shell
    }

    /// - Parameter app: the UUID of the application whose page it is, or is searched first.
    private func shell(_ login: PersonService.Login, app: String?, _ request: Request) async -> Shell {
        // Where these cannot be read, the page does without.
        let (store, person) = (services.store, login.person)
        let applications =
            (try? await store.applications(seenBy: person, limit: Shell.Switcher.listedMax + 1)) ?? []
        var current: Application?
        if let uuid = app.flatMap({ UUID(text: $0) }) { current = (try? await store.application(uuid)) ?? nil }
        var shell = Shell(
            of: person, in: current.flatMap { person.maySee($0) ? $0 : nil }, at: request.uri.path, applications)
        shell.csrf = FormToken.of(login.token)
        shell.page = request.method == .get ? request.uri.string : request.uri.path
        shell.proof =
            (try? services.people.pageProof(for: login.person.key, page: shell.page)).map { Data($0).base64URL } ?? ""
        shell.release = services.options.release
        shell.path = services.options.address.path
        return shell
    }

    /// An error as a page.
    private func failure(
        _ cause: any Error, _ request: Request, _ login: PersonService.Login, _ context: APIContext
    ) async throws -> Response {
        if cause is CancellationError || cause is BodyUnreadable { throw cause }
        let error = APIError(cause: cause)
        if error.status.kind == .serverError, !(cause is APIError) {
            context.logger.error("page of the dashboard failed", metadata: ["error": "\(cause)"])
        }
        var page = PageView(error.status == .notFound ? "Not found" : error.status.reasonPhrase)
        page.problem = error.message
        page.actions = [Link("To the overview", Address.path())]
        return html(page, await shell(login, app: nil, request), status: error.status)
    }

    @Sendable private func missing(_ request: Request, _ context: APIContext) async throws -> Response {
        guard let token = Cookie.session.value(in: request), let login = try await services.people.login(token: token)
        else { return loginRoutes.askForLogin(request) }
        return try await failure(APIError.missing("page"), request, login, context)
    }
}

extension Router<APIContext> {
    /// Serves handlers that render a page, off the event loop: that takes milliseconds, and would hold up its other requests.
    func servePages(_ path: RouterPath, isSafe: Bool = true, _ handlers: [HTTPRequest.Method: Handler]) {
        let beside = handlers.mapValues { handler -> Handler in
            { request, context in
                try await withTaskExecutorPreference(globalConcurrentExecutor) { try await handler(request, context) }
            }
        }
        serve(path, isSafe: isSafe, beside)
    }
}

/// A form that a page of ours sent, or an error.
enum PostedForm {
    /// - Parameter cookie: the cookie that the form's token is bound to.
    static func read(
        _ request: Request, _ services: Dashboard.Services, _ context: APIContext, atMost bytesMax: Int, cookie: String
    ) async throws -> FormData {
        try services.demandOwnPage(request, context)
        let form = try await fields(of: request, atMost: bytesMax)
        guard FormToken.isRight(form.raw("csrf"), for: cookie) else { throw outOfDate }
        return form
    }

    static let outOfDate = APIError(
        .forbidden, "The form is out of date. Go back, reload the page and send it again")

    /// The fields and files of a posted form, without a check of its sender.
    static func fields(of request: Request, atMost bytesMax: Int) async throws -> FormData {
        let bytes = try await request.bytes(atMost: bytesMax)
        guard let boundary = Boundary.named(in: request.headers[.contentType] ?? "") else {
            return try FormData(urlEncoded: String(decoding: bytes, as: UTF8.self))
        }
        return try FormData(multipart: bytes, boundary: boundary)
    }
}
