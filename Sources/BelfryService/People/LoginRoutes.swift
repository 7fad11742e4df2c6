import HTTPTypes
import Hummingbird
import Logging

/// The pages before the login: the login itself, and the link of an invitation.
struct LoginRoutes: Sendable {
    let services: Dashboard.Services

    private static let bodyBytesMax = 16 << 10

    func add(to router: Router<APIContext>, resume: @escaping HeldForm.Resume) {
        let root = Dashboard.root
        router.servePages(
            RouterPath("\(root)/login"),
            [.get: showLogin, .post: { request, context in try await login(request, context, resume) }])
        router.servePages(RouterPath("\(root)/setup"), [.get: showSetup, .post: setUp])
        addSignOn(to: router)
        router.servePages(RouterPath("\(root)/logout"), [.post: logout])
    }

    /// Sends the browser to the login, and after it back to the page.
    func askForLogin(_ request: Request) -> Response {
        let next = request.method == .get ? Address.checked(next: request.uri.string) : ""
        return .seeOther(Address.query(Address.path("login"), [("next", next == Address.path() ? "" : next)]))
    }

    /// Asks for a login after a form was posted. The form is shown again after it, or the page says what is lost.
    func askForLogin(holding request: Request, _ context: APIContext) async throws -> Response {
        try await failing(request, context) {
            guard (try? services.demandOwnPage(request, context)) != nil else { return askForLogin(request) }
            let form: FormData
            do {
                form = try await PostedForm.fields(of: request, atMost: HeldForm.bodyBytesMax)
            } catch let error as APIError where error.status == .contentTooLarge {
                return try askForLogin(saying: HeldForm.isTooLong, next: "", request, context)
            } catch is InvalidInput {
                return askForLogin(request)
            }
            guard let held = HeldForm(form, to: request.uri.path, by: services.people) else {
                return askForLogin(request)
            }
            guard !form.typed.isEmpty || form.hasFiles else {
                return try askForLogin(saying: HeldForm.wasButton, next: held.page, request, context)
            }
            let (visit, isNew) = try visitOrNew(of: request)
            guard let sealed = try held.sealed(by: services.people, for: visit) else {
                return try askForLogin(saying: HeldForm.isTooLong, next: held.page, request, context)
            }
            let problem = "You had been logged out. Log in, and the form comes back as you filled it in."
            let page = loginPage(email: "", next: held.page, problem: problem, held: sealed)
            var response = try plain(page, request, context, status: .unauthorized, visit: visit)
            if isNew { remember(visit, in: &response, request, context) }
            return response
        }
    }

    private func askForLogin(
        saying problem: String, next: String, _ request: Request, _ context: APIContext
    ) throws -> Response {
        try plain(loginPage(email: "", next: next, problem: problem), request, context, status: .unauthorized)
    }

    /// Sends a person who has logged in to the page that was asked for, or to the one with the form that was held.
    private func welcome(
        _ login: PersonService.Login, _ form: FormData, _ visit: String, _ request: Request, _ context: APIContext,
        _ resume: HeldForm.Resume
    ) async throws -> Response {
        guard let held = HeldForm(sealed: form.raw(HeldForm.field), by: services.people, for: visit),
            held.person == login.person.key
        else {
            return try signedIn(login, request, context, next: form["next"])
        }
        let asked = held.request(like: request)
        var head = asked.head
        head.headerFields[.cookie] = "\(Cookie.session.rawValue)=\(login.token)"
        let page = try? await resume(held, Request(head: head, body: asked.body), context)
        guard var response = page, response.status == .ok else {
            return try signedIn(login, request, context, next: form["next"])
        }
        try setCookies(of: login, in: &response, request, context)
        return response
    }

    // MARK: Login

    @Sendable private func showLogin(_ request: Request, _ context: APIContext) async throws -> Response {
        try await failing(request, context) {
            if let token = Cookie.session.value(in: request), try await services.people.login(token: token) != nil {
                return .seeOther(Address.path())
            }
            let query = try FormData(urlEncoded: request.uri.query ?? "")
            return try plain(loginPage(email: "", next: query["next"], problem: ""), request, context)
        }
    }

    private func login(
        _ request: Request, _ context: APIContext, _ resume: HeldForm.Resume
    ) async throws -> Response {
        try await failing(request, context) {
            let visit = try visit(of: request)
            let form = try await PostedForm.read(
                request, services, context, atMost: HeldForm.bodyBytesMax, cookie: visit)
            // The person has logged in meanwhile, by an issuer or in another tab.
            if form["again"] == "yes", let token = Cookie.session.value(in: request),
                let login = try await services.people.login(token: token)
            {
                return try await welcome(login, form, visit, request, context, resume)
            }
            try requirePasswords()
            guard form["proof"].isEmpty else { return try await loginByCode(form, visit, request, context, resume) }
            let email = form["email"].lowerCase
            let person = try await services.requestLimiter.checkGuess(
                at: "person \(email)", .password, device: browserMark(of: email, request), of: request, context
            ) { caller in
                try await services.people.person(email: email, password: form.raw("password"), for: caller)
            }
            guard let person else {
                let page = loginPage(
                    email: form["email"], next: form["next"], problem: "The e-mail address or the password is wrong.",
                    held: form.raw(HeldForm.field))
                return try plain(page, request, context, status: .unauthorized)
            }
            guard person.hasTwoFactor else {
                return try await welcome(
                    try await begin(person, nil, request, context), form, visit, request, context, resume)
            }
            let proof = try services.people.halfLogin(of: person, visit: visit)
            return try plain(Self.codePage(proof: proof, form), request, context)
        }
    }

    private func requirePasswords() throws {
        guard services.options.takesPasswords else {
            throw APIError(.forbidden, "Passwords are switched off here. Log in by single sign-on.")
        }
    }

    private func loginByCode(
        _ form: FormData, _ visit: String, _ request: Request, _ context: APIContext, _ resume: HeldForm.Resume
    ) async throws -> Response {
        guard let person = try await services.people.person(ofHalfLogin: form["proof"], visit: visit) else {
            let page = loginPage(
                email: "", next: form["next"], problem: "The time for the code is over. Please log in again.",
                held: form.raw(HeldForm.field))
            return try plain(page, request, context, status: .unauthorized)
        }
        let factor = try await services.requestLimiter.checkGuess(
            at: "code of person \(person.key)", .code, device: browserMark(of: person.email.text, request), of: request,
            context
        ) { _ in
            try await services.people.takeCode(form["code"], of: person)
        }
        guard let factor else {
            let page = Self.codePage(
                proof: form["proof"], form,
                problem: "The code is wrong or was used already. Please wait for the next one.")
            return try plain(page, request, context, status: .unauthorized)
        }
        return try await welcome(
            try await begin(person, factor, request, context), form, visit, request, context, resume)
    }

    private func begin(
        _ person: Person, _ factor: PersonService.Factor?, _ request: Request, _ context: APIContext
    ) async throws -> PersonService.Login {
        try await services.people.begin(
            person, factor: factor, address: services.requestLimiter.address(of: request, context)?.text,
            agent: request.headers[.userAgent] ?? "")
    }

    /// See `PersonService.browserMark`.
    private func browserMark(of email: String, _ request: Request) -> Int? {
        services.people.browserMark(Cookie.browser.value(in: request), of: email)
    }

    /// A session begins with a token of its own: one that the browser had before is worth nothing.
    func signedIn(_ login: PersonService.Login, _ request: Request, _ context: APIContext, next: String) throws
        -> Response
    {
        var response = Response.seeOther(Address.checked(next: next))
        try setCookies(of: login, in: &response, request, context)
        return response
    }

    private func setCookies(
        of login: PersonService.Login, in response: inout Response, _ request: Request, _ context: APIContext
    ) throws {
        let seconds = services.options.lifetime.absolute.components.seconds
        services.set(.session, login.token, seconds: seconds, in: &response, request, context)
        let browser = try services.people.knownBrowser(Cookie.browser.value(in: request), with: login.person)
        services.set(
            .browser, browser, seconds: PersonService.browserLifetime.components.seconds, in: &response, request,
            context)
    }

    @Sendable private func logout(_ request: Request, _ context: APIContext) async throws -> Response {
        try await failing(request, context) {
            let token = Cookie.session.value(in: request) ?? ""
            if let login = try await services.people.login(token: token) {
                _ = try await PostedForm.read(request, services, context, atMost: Self.bodyBytesMax, cookie: token)
                let address = services.requestLimiter.address(of: request, context)?.text
                try await services.people.logout(login, by: AuditAuthor(login.person, address: address))
            }
            var response = Response.seeOther(Address.path("login"))
            services.set(.session, "", seconds: 0, in: &response, request, context)
            return response
        }
    }

    private func loginPage(email: String, next: String, problem: String, held: String = "") -> PageView {
        var page = PageView("Log in")
        if !services.issuers.isEmpty {
            let back = Form(
                Address.path("login"), "I have logged in: go back to the form",
                hidden: [.init(name: "again", value: "yes"), .init(name: HeldForm.field, value: held)])
            page.sections = [signOnSection(next: next, back: held.isEmpty ? nil : back)]
        }
        guard services.options.takesPasswords else {
            page.problem = problem
            return page
        }
        var form = Form(
            Address.path("login"), "Log in",
            [
                .text(
                    "email", "E-mail", email, isRequired: true, type: "email", autocomplete: "username"
                ).focusedIf(email.isEmpty),
                .password("password", "Password").focusedIf(!email.isEmpty),
            ], hidden: [.init(name: "next", value: next)] + Self.holding(held))
        form.problem = problem
        page.sections.insert(Section { form }, at: 0)
        return page
    }

    // MARK: The code

    private static func holding(_ held: String) -> [Form.Hidden] {
        held.isEmpty ? [] : [.init(name: HeldForm.field, value: held)]
    }

    /// - Parameter posted: the form before, which may carry another.
    private static func codePage(proof: String, _ posted: FormData, problem: String = "") -> PageView {
        var page = PageView("Enter your code")
        page.lead = "Open your authenticator app and type the code that it shows for Belfry. "
        page.lead += "Without your phone, type one of your recovery codes."
        var form = Form(
            Address.path("login"), "Log in",
            [.text("code", "Code", isRequired: true, autocomplete: "one-time-code").focused])
        form.hidden =
            [.init(name: "proof", value: proof), .init(name: "next", value: posted["next"])]
            + holding(posted.raw(HeldForm.field))
        form.problem = problem
        page.sections = [Section { form }]
        return page
    }

    // MARK: Invitations

    @Sendable private func showSetup(_ request: Request, _ context: APIContext) async throws -> Response {
        try await failing(request, context) {
            try requirePasswords()
            let token = try FormData(urlEncoded: request.uri.query ?? "")["token"]
            guard let invitation = try await invitation(token, request, context) else {
                return try plain(Self.usedUp, request, context, status: .notFound)
            }
            return try plain(setupPage(invitation, setupForm(invitation, token: token)), request, context)
        }
    }

    @Sendable private func setUp(_ request: Request, _ context: APIContext) async throws -> Response {
        try await failing(request, context) {
            let data = try await posted(request, context)
            try requirePasswords()
            let address = services.requestLimiter.address(of: request, context)?.text
            guard let invitation = try await invitation(data["token"], request, context) else {
                return try plain(Self.usedUp, request, context, status: .notFound)
            }
            do {
                let person = try await accept(invitation, data, address: address)
                // A new password does not take the place of a code.
                guard !person.hasTwoFactor else { return .seeOther(Address.path("login")) }
                let login = try await services.people.begin(
                    person, address: address, agent: request.headers[.userAgent] ?? "")
                return try signedIn(login, request, context, next: "")
            } catch let fault as InvalidInput {
                var form = setupForm(invitation, token: data["token"])
                form.keep(data)
                form.show(fault.problem, at: fault.field)
                return try plain(setupPage(invitation, form), request, context, status: .unprocessableContent)
            }
        }
    }

    private func invitation(
        _ token: String, _ request: Request, _ context: APIContext
    ) async throws -> Invitation? {
        try await services.requestLimiter.checkCredentials(
            "invitation", of: request, context, letsRightPass: true
        ) {
            try await services.people.invitation(token: token)
        }
    }

    private func accept(_ invitation: Invitation, _ data: FormData, address: String?) async throws -> Person {
        let email = try invitation.email ?? EmailAddress(data["email"])
        let name = data["name"].isEmpty ? email.text : data["name"]
        let password = try Password(data.raw("password"))
        guard data.raw("password") == data.raw("again") else {
            throw InvalidInput(field: "again", "is not the same password")
        }
        return try await services.people.accept(
            invitation, email: email, name: try Name(name), password: password, address: address)
    }

    private static let usedUp: PageView = {
        var page = PageView("This link is no longer valid")
        page.lead =
            "It was used, its three days are over, or it was withdrawn or replaced by a later one. Ask an operator for another; "
        page.lead += "on the server's machine "
        page.lead += "`belfry admin user create` makes a person too."
        page.actions = [Link("To the login", Address.path("login"))]
        return page
    }()

    private func setupForm(_ invitation: Invitation, token: String) -> Form {
        var fields: [Field] = []
        if invitation.email == nil {
            fields.append(
                .text(
                    "email", "E-mail", hint: "You log in with it. No e-mail is sent.", isRequired: true,
                    type: "email", autocomplete: "username"
                ).focused)
        }
        if invitation.person == nil { fields.append(.text("name", "Your name", autocomplete: "name")) }
        fields += [.newPassword("Password"), .newPassword("The same password again", isAgain: true)]
        return Form(
            Address.path("setup"), "Set the password and log in", fields, hidden: [.init(name: "token", value: token)])
    }

    private func setupPage(_ invitation: Invitation, _ form: Form) -> PageView {
        var page = PageView(invitation.email == nil ? "Welcome to Belfry" : "Set your password")
        page.lead =
            invitation.email.map { "For \($0.text), with the role \(invitation.scope.rawValue)." }
            ?? "Create the first account. It may do everything."
        page.sections = [Section { form }]
        return page
    }

    // MARK: What both need

    /// The form of a visit before the login is bound to a cookie of the visit.
    private func posted(_ request: Request, _ context: APIContext) async throws -> FormData {
        try await PostedForm.read(
            request, services, context, atMost: Self.bodyBytesMax, cookie: try visit(of: request))
    }

    private func visit(of request: Request) throws -> String {
        guard let visit = Cookie.visit.value(in: request), services.people.isVisit(visit) else {
            throw APIError(
                .forbidden, "The form needs its cookie: allow cookies for this address, and load the page again")
        }
        return visit
    }

    func plain(
        _ page: PageView, _ request: Request, _ context: APIContext, status: HTTPResponse.Status = .ok,
        visit begun: String? = nil
    ) throws -> Response {
        var shell = Shell()
        shell.path = services.options.address.path
        let (visit, isNew) = if let begun { (begun, false) } else { try visitOrNew(of: request) }
        shell.csrf = FormToken.of(visit)
        var response = Response.html(shell.render(page).text, status: status)
        if isNew { remember(visit, in: &response, request, context) }
        return response
    }

    /// The visit before a login, and whether the browser has its cookie still to get.
    func visitOrNew(of request: Request) throws -> (visit: String, isNew: Bool) {
        let known = Cookie.visit.value(in: request).flatMap { services.people.isVisit($0) ? $0 : nil }
        return (try known ?? services.people.newVisit(), known == nil)
    }

    func remember(_ visit: String, in response: inout Response, _ request: Request, _ context: APIContext) {
        services.set(.visit, visit, seconds: 86_400, in: &response, request, context)
    }

    func failing(
        _ request: Request, _ context: APIContext, _ body: () async throws -> Response
    ) async throws -> Response {
        do { return try await body() } catch {
            if error is CancellationError || error is BodyUnreadable { throw error }
            let known = APIError(cause: error)
            if known.status.kind == .serverError, !(error is APIError) {
                context.logger.error("page of the dashboard failed", metadata: ["error": "\(error)"])
            }
            var page = PageView(known.status.reasonPhrase)
            page.problem = known.message
            page.actions = [Link("To the login", Address.path("login"))]
            var response = try plain(page, request, context, status: known.status)
            for header in known.headers where header.name != .wwwAuthenticate { response.headers.append(header) }
            return response
        }
    }

}

extension Field {
    fileprivate func focusedIf(_ isFocused: Bool) -> Field { isFocused ? focused : self }
}
