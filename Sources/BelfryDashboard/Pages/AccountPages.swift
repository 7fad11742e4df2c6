import BelfryAPI
import BelfryCore
import FoundationEssentials

/// A person's own account: the password, and where they are logged in.
struct AccountPages {
    let make: RouteMaker

    var routes: [PageRoute] {
        [
            make.open(.get, "account", show), make.open(.post, "account/password", change),
            make.open(.post, "account/sessions/:session_id/end", end),
        ]
    }

    @Sendable private func show(_ visit: Visit) async throws -> PageAnswer {
        var page = try await page(visit, Self.form)
        switch visit.query["done"] {
        case "password": page.notice = "The password is changed. Other browsers have to log in again."
        case "ended": page.notice = "That session is ended."
        default: break
        }
        return .page(page)
    }

    private func page(_ visit: Visit, _ form: Form) async throws -> PageView {
        Self.page(
            visit.person, try await visit.services.store.sessions(of: visit.person.key), own: visit.login.session.key,
            form)
    }

    private static var form: Form {
        Form(
            Address.path("account", "password"), "Change the password",
            [
                .text("old", "The password now", isRequired: true, type: "password", autocomplete: "current-password"),
                .text(
                    "password", "The new one",
                    hint: "At least \(Password.charactersMin) characters; several words are best.",
                    isRequired: true, type: "password", autocomplete: "new-password"),
                .text("again", "The new one again", isRequired: true, type: "password", autocomplete: "new-password"),
            ])
    }

    static func page(
        _ person: Person, _ sessions: [DashboardSession], own: Key<DashboardSession>, _ form: Form
    ) -> PageView {
        var page = PageView("Your account")
        var facts = Section()
        facts.facts = [
            Fact("Name", .text(person.name)), Fact("E-mail", .text(person.email.text)),
            Fact("Role", .text(person.scope.rawValue)),
        ]
        var list = Section("Where you are logged in")
        list.table = Table(
            "Sessions", ["Browser", "Address", "Since", "Last seen"],
            sessions.map { session in
                [
                    (session.key == own ? [Value.badge("this one", .good)] : []) + [.text(session.agent)],
                    [.text(session.address ?? "")], [.time(session.createdAt)], [.time(session.lastSeenAt)],
                ]
            },
            forms: sessions.map { session in
                session.key == own
                    ? [] : [.button(Address.path("account", "sessions", "\(session.key)", "end"), "End")]
            }, empty: "")
        var password = Section("Password")
        password.form = form
        page.sections = [facts, list, password]
        return page
    }

    @Sendable private func change(_ visit: Visit) async throws -> PageAnswer {
        try await visit.trying(Self.form, on: { try await page(visit, $0) }) {
            let isRight = try await visit.services.people.isPassword(visit.form.raw("old"), of: visit.person)
            guard isRight else { throw InvalidInput(field: "old", "is not your password") }
            let password = try Password(visit.form.raw("password"))
            guard visit.form.raw("again") == visit.form.raw("password") else {
                throw InvalidInput(field: "again", "is not the same password")
            }
            try await visit.services.people.setPassword(
                of: visit.person, to: password, keeping: visit.login.session.key, by: visit.author)
            return .redirect(Address.query(Address.path("account"), [("done", "password")]))
        }
    }

    @Sendable private func end(_ visit: Visit) async throws -> PageAnswer {
        guard let number = Int64(visit.text("session_id")),
            try await visit.services.people.end(Key(number), of: visit.person, by: visit.author)
        else { throw APIError.none("session") }
        return .redirect(Address.query(Address.path("account"), [("done", "ended")]))
    }
}
