import FoundationEssentials
import HTTPTypes

/// A person's own account: the password, the second factor, and where they are logged in.
struct AccountPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "account", show), make.open(.post, "account/name", rename),
            make.open(.post, "account/email", setEmail),
            make.open(.post, "account/password", change), make.open(.post, "account/time-zone", setTimeZone),
            make.open(.post, "account/sessions/:session_id/end", end),
            make.open(.get, "account/two-factor", showTwoFactor), make.open(.post, "account/two-factor", setTwoFactor),
            make.open(.post, "account/two-factor/off", removeTwoFactor),
        ]
    }

    @Sendable private func show(_ visit: DashboardRequest) async throws -> PageAnswer {
        .page(
            try await page(visit).saying(
                visit,
                [
                    "saved": "Saved.", "password": "The password is changed. Other browsers have to log in again.",
                    "zone": "Saved: times are by the clocks of \(Viewer.current.zone.name).",
                    "ended": "The session is ended.", "off": "Two-factor authentication is off.",
                ]))
    }

    /// - Parameters:
    ///   - name: the form that changes the name, with any error in it.
    ///   - off: the form that turns the second factor off.
    private func page(
        _ visit: DashboardRequest, _ form: Form = Self.form, name: Form? = nil, email: Form? = nil,
        off: Form = Self.offForm, zone: Form? = nil
    ) async throws -> PageView {
        let store = visit.services.store
        return Self.page(
            visit.person, try await store.sessions(of: visit.person.key), own: visit.login.session.key,
            try await store.twoFactor(of: visit.person.key), name: name ?? Self.nameForm(visit.person),
            email: visit.maySetEmail ? email ?? Self.emailForm(visit.person) : nil, password: form, off: off,
            zone: zone ?? Self.zoneForm(visit.person))
    }

    private static func nameForm(_ person: Person) -> Form {
        Form(
            Address.path("account", "name"), "Save",
            [.text("name", "Name", person.name, isRequired: true, autocomplete: "name")])
    }

    @Sendable private func rename(_ visit: DashboardRequest) async throws -> PageAnswer {
        try await visit.trying(Self.nameForm(visit.person), on: { try await page(visit, name: $0) }) {
            try await visit.services.people.setName(
                of: visit.person, to: try Name(visit.form["name"]), by: visit.author)
            return .redirect(Address.query(Address.path("account"), [("done", "saved")]))
        }
    }

    private static func emailForm(_ person: Person) -> Form {
        Form(
            Address.path("account", "email"), "Change the address",
            [
                .text(
                    "email", "E-mail address", person.email.text, hint: "You log in with it. No mail is sent to it.",
                    isRequired: true, type: "email", autocomplete: "email"),
                .password("current", "Your password"),
            ])
    }

    @Sendable private func setEmail(_ visit: DashboardRequest) async throws -> PageAnswer {
        guard visit.maySetEmail else { throw APIError.missing("page") }
        return try await visit.trying(Self.emailForm(visit.person), on: { try await page(visit, email: $0) }) {
            let email = try EmailAddress(visit.form["email"])
            try await Self.check(visit.form.raw("current"), at: "current", visit)
            if email != visit.person.email {
                try await visit.services.people.setEmail(of: visit.person, to: email, by: visit.author)
            }
            return .redirect(Address.query(Address.path("account"), [("done", "saved")]))
        }
    }

    private static var form: Form {
        Form(
            Address.path("account", "password"), "Change the password",
            [
                .password("old", "Current password"), .newPassword("New password"),
                .newPassword("Repeat the new password", isAgain: true),
            ])
    }

    static func page(
        _ person: Person, _ sessions: [DashboardSession], own: Key<DashboardSession>, _ factor: TwoFactor?,
        name: Form, email: Form?, password form: Form, off: Form, zone: Form
    ) -> PageView {
        var page = PageView("Your account") {
            Section {
                Facts {
                    Fact("Name", .text(person.name))
                    Fact("E-mail", .text(person.email.text))
                    Fact("Role", .text(person.scope.rawValue))
                    if !person.hasPassword {
                        Fact("Login", .text("Single sign-on, without a password"))
                    }
                }
                name
            }
            Section("Time zone") { zone }
            Section("Where you are logged in") {
                Table(
                    "Sessions", ["Browser", "Address", "Since", "Last seen"],
                    sessions.map { session in
                        [
                            (session.key == own ? [Value.badge("this browser", .good)] : []) + [.text(session.agent)],
                            [.text(session.address ?? "")], [.time(session.createdAt)], [.time(session.lastSeenAt)],
                        ]
                    },
                    forms: sessions.map { session in
                        session.key == own
                            ? [] : [.button(Address.path("account", "sessions", "\(session.key)", "end"), "End")]
                    }, empty: "")
            }
        }
        if let email { page.sections.append(Section("E-mail address") { email }) }
        if person.hasPassword { page.sections += [Section("Password") { form }, twoFactor(factor, off)] }
        return page
    }

    private static func twoFactor(_ factor: TwoFactor?, _ off: Form) -> Section {
        let heading = "Two-factor authentication"
        let address = Address.path("account", "two-factor")
        guard let factor else {
            return Section(
                heading, text: "A login then asks for your password and for a code from your phone."
            ) { ButtonRow([Link("Set it up", address)]) }
        }
        return Section(heading) {
            Facts {
                Fact("State", .badge("on", .good))
                Fact("Recovery codes left", .number(factor.recoveryCodeCount))
            }
            off
            ButtonRow([Link("Another phone, or new recovery codes", address)])
        }
    }

    private static var offForm: Form {
        Form(
            Address.path("account", "two-factor", "off"), "Turn it off",
            [.password("password", "Your password")], isDanger: true)
    }

    @Sendable private func change(_ visit: DashboardRequest) async throws -> PageAnswer {
        try await visit.trying(Self.form, on: { try await page(visit, $0) }) {
            try await Self.check(visit.form.raw("old"), at: "old", visit)
            let password = try Password(visit.form.raw("password"))
            guard visit.form.raw("again") == visit.form.raw("password") else {
                throw InvalidInput(field: "again", "is not the same password")
            }
            try await visit.services.people.setPassword(
                of: visit.person, to: password, keeping: visit.login.session.key, by: visit.author)
            return .redirect(Address.query(Address.path("account"), [("done", "password")]))
        }
    }

    private static func zoneForm(_ person: Person) -> Form {
        Form(
            Address.path("account", "time-zone"), "Save",
            [
                .text(
                    "time_zone", "Times are by the clocks of", person.timeZone ?? "",
                    hint: "Such as Europe/Vienna. Empty: the browser's; now \(Viewer.current.zone.name).")
            ])
    }

    @Sendable private func setTimeZone(_ visit: DashboardRequest) async throws -> PageAnswer {
        let form = Self.zoneForm(visit.person)
        return try await visit.trying(form, on: { try await page(visit, Self.form, zone: $0) }) {
            let name = visit.form["time_zone"]
            try await visit.services.people.setTimeZone(
                of: visit.person, to: name.isEmpty ? nil : ZoneInfo(name, field: "time_zone"), by: visit.author)
            return .redirect(Address.query(Address.path("account"), [("done", "zone")]))
        }
    }

    @Sendable private func end(_ visit: DashboardRequest) async throws -> PageAnswer {
        guard let number = Int64(visit.text("session_id")),
            try await visit.services.people.end(Key(number), of: visit.person, by: visit.author)
        else { throw APIError.missing("session") }
        return .redirect(Address.query(Address.path("account"), [("done", "ended")]))
    }

    // MARK: The second factor

    @Sendable private func showTwoFactor(_ visit: DashboardRequest) async throws -> PageAnswer {
        let secret = visit.services.people.newTwoFactorSecret()
        return .page(Self.setUpPage(visit.person, secret, Self.setUpForm(secret)))
    }

    /// The secret is in the form, since nothing is kept before the app has proved that it has it.
    private static func setUpForm(_ secret: [UInt8]) -> Form {
        Form(
            Address.path("account", "two-factor"), "Turn it on",
            [
                .text(
                    "code", "The code that the app shows now", isRequired: true, autocomplete: "one-time-code",
                    placeholder: "123456"),
                .password("password", "Your password"),
            ], hidden: [.init(name: "secret", value: OneTimeCode.base32(secret))])
    }

    static func setUpPage(_ person: Person, _ secret: [UInt8], _ form: Form) -> PageView {
        let text = OneTimeCode.base32(secret)
        var page = PageView("Two-factor authentication") {
            Section("Your phone") {
                Facts([Fact("Or type this into the app", .code(text))])
                QRCode(
                    uri(secret: text, of: person), label: "The secret as a QR code; it stands below as text too")
                form
            }
        }
        page.lead = "Scan the code with an authenticator app, such as Aegis, 2FAS or Google Authenticator. "
        page.lead += "From then on a login asks for the code that it shows."
        page.crumbs = [Link("Your account", Address.path("account"))]
        return page
    }

    /// The URI in the QR code, which the authenticator app reads. Source: Google Authenticator, "Key URI Format".
    private static func uri(secret: String, of person: Person) -> String {
        "otpauth://totp/Belfry:\(person.email.text.percentEncoded)?secret=\(secret)&issuer=Belfry"
    }

    @Sendable private func setTwoFactor(_ visit: DashboardRequest) async throws -> PageAnswer {
        guard let secret = OneTimeCode.secret(base32: visit.form["secret"]) else {
            throw APIError(.badRequest, "The form is damaged. Go back, reload the page and send it again")
        }
        return try await visit.trying(
            Self.setUpForm(secret), on: { Self.setUpPage(visit.person, secret, $0) }
        ) {
            try await Self.check(visit.form.raw("password"), at: "password", visit)
            let codes = try await visit.services.people.setTwoFactor(
                of: visit.person, to: secret, code: visit.form["code"], by: visit.author)
            guard let codes else {
                throw InvalidInput(
                    field: "code",
                    "is not what the app shows now. Codes change every \(OneTimeCode.stepSeconds) seconds; is the phone's time right?"
                )
            }
            return .outcome(Self.codesPage(codes))
        }
    }

    static func codesPage(_ codes: [RecoveryCode]) -> PageView {
        var page = PageView("Two-factor authentication is on") {
            Section(
                "Recovery codes, shown only once",
                text: "Each lets you in once without your phone. Print them, or keep them where your passwords are.",
                style: .secret
            ) {
                Code("Recovery codes", codes.map(\.text).joined(separator: "\n"))
                let text = codes.map { "\($0.text)\n" }.joined()
                Tag("div", ["class": "row"]) {
                    Tag(
                        "a",
                        [
                            "class": "button", "download": "belfry-recovery-codes.txt",
                            "href": "data:text/plain;charset=utf-8,\(text.percentEncoded)",
                        ], "Download as a text file")
                    Link("I have kept them", Address.path("account"), isMain: true).button
                }
            }
        }
        page.crumbs = [Link("Your account", Address.path("account"))]
        return page
    }

    @Sendable private func removeTwoFactor(_ visit: DashboardRequest) async throws -> PageAnswer {
        try await visit.trying(Self.offForm, on: { try await page(visit, off: $0) }) {
            try await Self.check(visit.form.raw("password"), at: "password", visit)
            try await visit.services.people.removeTwoFactor(of: visit.person, by: visit.author)
            return .redirect(Address.query(Address.path("account"), [("done", "off")]))
        }
    }

    private static func check(_ password: String, at field: String, _ visit: DashboardRequest) async throws {
        guard try await visit.isPassword(password) else { throw InvalidInput(field: field, "is not your password") }
    }
}

extension Field {
    /// A password that the person has.
    static func password(_ name: String, _ label: String) -> Field {
        .text(name, label, isRequired: true, type: "password", autocomplete: "current-password")
    }

    /// - Parameter isAgain: whether it is typed once more.
    static func newPassword(_ label: String, isAgain: Bool = false) -> Field {
        .text(
            isAgain ? "again" : "password", label,
            hint: isAgain ? "" : "At least \(Password.charactersMin) characters; several words are best.",
            isRequired: true, type: "password", autocomplete: "new-password")
    }
}

extension DashboardRequest {
    /// Whether the person may choose another e-mail address. An issuer would give whoever has it the account, so then only those may who
    /// can invite people anyway.
    fileprivate var maySetEmail: Bool {
        person.hasPassword && (services.issuers.isEmpty || may(.administer, Permission.Subject(person.bounds)))
    }
}
