import ArgumentParser
import BelfryServer
import BelfryService
import FoundationEssentials

extension AdminCommand {
    /// The people who may log in at the dashboard.
    struct User: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "user",
            abstract:
                "Make, list, change, reset and shut out people of the dashboard, and withdraw their links, on this machine.",
            subcommands: [
                Create.self, List.self, Edit.self, Reset.self, Withdraw.self, Disable.self, Enable.self,
            ])
    }
}

extension AdminCommand.User {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a person who may log in at the dashboard.",
            discussion: """
                Without --password-file a link is printed with which they set a password, once, within three days. `setup_path` is its path \
                on whatever address browsers reach this server by; `setup_link` is the whole of it: at public.url \
                (BELFRY_DASHBOARD_PUBLIC_URL), or else on this machine. A later link for the same address takes the place of an earlier one.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The e-mail address to log in with; nothing is sent to it.") var email: String
        @Option(help: "The display name. [default: the e-mail address]") var name: String?
        @Option(help: "operator, tenant-admin, app-admin, sender or read-only.") var role: String
        @Option(help: "The tenant they are bound to.", transform: UUID.parse) var tenant: UUID?
        @Option(help: "The application they are bound to.", transform: UUID.parse) var app: UUID?
        @Option(help: ArgumentHelp("The password; - is standard input.", valueName: "file")) var passwordFile: String?

        func run() async throws {
            let scope = try AdminKey.Scope(argument: role, option: "--role")
            guard tenant == nil || app == nil else { throw ValidationError("give --tenant or --app, not both") }
            let password = try passwordFile.map { try Password(SecretFile.contents(of: $0, for: "--password-file")) }
            let email = try EmailAddress(email)
            let publicURL = try await common.publicURL()
            let fields = try await common.withResources { resources in
                let bounds = try await resources.operatorService.bounds(tenant: tenant, application: app)
                let (people, author) = (resources.people, resources.operatorService.author)
                var fields = [("email", email.text), ("role", scope.rawValue)]
                if try await people.store.person(email) != nil {
                    throw ValidationError(
                        "\(email.text) may log in already; `belfry admin user reset --email \(email.text)` gives them a new link"
                    )
                }
                fields += try await AdminKey.Scope.inWordsOfOptions("--role") {
                    guard let password else {
                        let token = try await people.invite(email, scope: scope, bounds: bounds, by: author)
                        return SetupLink.fields(token, at: publicURL)
                    }
                    let person = try await people.create(
                        email: email, name: try Name(name ?? email.text), scope: scope, bounds: bounds,
                        password: password, by: author)
                    return [("user_id", "\(person.key)")]
                }
                return fields
            }
            try output.show(Dictionary(uniqueKeysWithValues: fields), fields)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List everyone who may log in at the dashboard.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await common.withResources { resources in
                let store = resources.people.store
                var rows: [PersonRow] = []
                var (people, links): ([Person], [Invitation]) = ([], [])
                repeat {
                    people = try await store.people(within: .everything, after: people.last?.key, limit: 200)
                    for person in people {
                        rows.append(PersonRow(person, try await resources.places(of: person.bounds)))
                    }
                } while people.count == 200
                repeat {
                    links = try await store.invitations(within: .everything, before: links.last?.key, limit: 200)
                    for link in links {
                        guard let row = PersonRow(link, try await resources.places(of: link.bounds)) else { continue }
                        rows.append(row)
                    }
                } while links.count == 200
                return rows
            }
            try output.show(rows, ["email", "role", "bound_to", "name", "last_login_at", "two_factor", "state"]) {
                [
                    $0.email, $0.role, $0.boundTo, $0.name, $0.last_login_at ?? "never",
                    $0.two_factor ? "on" : "off", $0.state,
                ]
            }
        }
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a person another role, which they have from now on.",
            discussion: """
                Where they are logged in they have it with their next click. Links for a new password end, and so do keys and links of \
                theirs that allow more. A role elsewhere (of another tenant, or operator) ends their password, second factor and sessions \
                too, since others may know them: `reset` prints a link. The last operator who may log in keeps the role. Where the rules of single sign-on give the role, the next login gives it again.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The e-mail address.") var email: String
        @Option(help: "operator, tenant-admin, app-admin, sender or read-only.") var role: String
        @Option(help: "The tenant they are bound to from now on.", transform: UUID.parse) var tenant: UUID?
        @Option(help: "The application they are bound to from now on.", transform: UUID.parse) var app: UUID?

        func run() async throws {
            let scope = try AdminKey.Scope(argument: role, option: "--role")
            guard tenant == nil || app == nil else { throw ValidationError("give --tenant or --app, not both") }
            let edited = try await common.withResources { resources in
                let (service, person) = (resources.operatorService, try await resources.person(email))
                let bounds = try await service.bounds(tenant: tenant, application: app)
                return try await AdminKey.Scope.inWordsOfOptions("--role") {
                    try await service.admin.setRole(
                        of: person, to: try SignOn.Role(scope, bounds), by: service.author)
                }
            }
            let fields = [("email", edited.email.text), ("role", edited.scope.rawValue)]
            try output.show(Dictionary(uniqueKeysWithValues: fields), fields)
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a person a new password, which ends their sessions.",
            discussion: """
                Without --password-file a link is printed with which they set one, once; until they do, the old one and their \
                sessions go on (`disable` ends them at once). `setup_path` and `setup_link` are as `create` prints them. A second factor stays, unless \
                --two-factor turns it off instead: for somebody who has lost their phone and their recovery codes.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The e-mail address.") var email: String
        @Option(help: ArgumentHelp("The password; - is standard input.", valueName: "file")) var passwordFile: String?
        @Flag(help: "Turn their two-factor authentication off; the password stays.") var twoFactor = false

        func run() async throws {
            guard !twoFactor || passwordFile == nil else {
                throw ValidationError("give --password-file or --two-factor, not both")
            }
            let password = try passwordFile.map { try Password(SecretFile.contents(of: $0, for: "--password-file")) }
            let publicURL = try await common.publicURL()
            let fields = try await common.withResources { resources in
                let person = try await resources.person(email)
                let (people, author) = (resources.people, resources.operatorService.author)
                if twoFactor {
                    try await people.removeTwoFactor(of: person, by: author)
                    return [("email", person.email.text), ("two_factor", "off")]
                }
                if let password {
                    try await people.setPassword(of: person, to: password, by: author)
                    return [("email", person.email.text)]
                }
                let token = try await people.makePasswordLink(for: person, by: author)
                return [("email", person.email.text)] + SetupLink.fields(token, at: publicURL)
            }
            try output.show(Dictionary(uniqueKeysWithValues: fields), fields)
        }
    }

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Withdraw the unused links for an e-mail address.",
            discussion: "Invitations and links for a new password become invalid.")

        @OptionGroup var common: CommonOptions
        @Option(help: "The e-mail address.") var email: String

        func run() async throws {
            let email = try EmailAddress(email)
            let count = try await common.withResources { resources in
                let links = try await resources.people.store.invitations(of: email)
                for link in links { try await resources.people.withdraw(link, by: resources.operatorService.author) }
                return links.count
            }
            guard count > 0 else { throw StoreError.unknown("link for \(email.text) that may still be used") }
            print("withdrew the link for \(email.text)")
        }
    }

    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shut a person out, and end their sessions.",
            discussion: """
                The links that they made end too, and the admin keys that they or one of those keys made; --keep-links-and-keys lets \
                these go on.
                """)

        @OptionGroup var common: CommonOptions
        @Option(help: "The e-mail address.") var email: String
        @Flag(help: "Shut out even the last operator of the dashboard.") var force = false
        @Flag(help: "Keep the links and the admin keys that they made.") var keepLinksAndKeys = false

        func run() async throws {
            try await common.withResources { resources in
                let person = try await resources.person(email)
                do {
                    try await resources.operatorService.admin.setDisabled(
                        true, person, keepsOperator: !force, endsIssued: !keepLinksAndKeys,
                        by: resources.operatorService.author)
                } catch let refusal as StoreError where refusal == person.isLastOperator {
                    throw StoreError.conflict("\(refusal), or give --force")
                }
            }
            print("shut out \(email)")
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a person in again.")

        @OptionGroup var common: CommonOptions
        @Option(help: "The e-mail address.") var email: String

        func run() async throws {
            try await common.withResources { resources in
                try await resources.operatorService.admin.setDisabled(
                    false, try await resources.person(email), by: resources.operatorService.author)
            }
            print("let in \(email)")
        }
    }
}

/// A person as scripts see them.
private struct PersonRow: Encodable {
    let email: String
    let role: String
    let tenant_uuid: String?
    let app_uuid: String?
    let name: String
    let created_at: String?
    let last_login_at: String?
    let two_factor: Bool
    /// `active`, `disabled`, or `invited until` when.
    let state: String

    /// The bounds in words, for a column.
    var boundTo: String { app_uuid.map { "app \($0)" } ?? tenant_uuid.map { "tenant \($0)" } ?? "everything" }

    init(_ person: Person, _ places: Places) {
        email = person.email.text
        role = person.scope.rawValue
        (tenant_uuid, app_uuid) = (places.tenant, places.application)
        name = person.name
        created_at = person.createdAt.text
        last_login_at = person.lastLoginAt?.text
        two_factor = person.hasTwoFactor
        state = person.disabledAt == nil ? "active" : "disabled"
    }

    /// nil for a link of an existing account, and for one without an e-mail address, which its first visitor may use.
    init?(_ invitation: Invitation, _ places: Places) {
        guard invitation.person == nil, let invited = invitation.email else { return nil }
        email = invited.text
        role = invitation.scope.rawValue
        (tenant_uuid, app_uuid) = (places.tenant, places.application)
        name = ""
        created_at = nil
        last_login_at = nil
        two_factor = false
        state = "invited until \(invitation.expiresAt.text)"
    }
}

/// The tenant and the application that a person is bound to.
private struct Places {
    var tenant: String?
    var application: String?
}

extension CommonOptions {
    /// The address where browsers find the dashboard: from the settings, or else on this machine. nil where the system draws the port.
    fileprivate func publicURL() async throws -> String? {
        let settings = try await configuration(unknownVariables: .told { _ in })
        var listener = settings.dashboard.listener ?? settings.http
        listener.tls = listener.tls ?? settings.http.tls
        return settings.dashboard.publicURL ?? (listener.port == 0 ? nil : listener.localURL)
    }
}

extension ServerResources {
    /// An application that was deleted is named as such: the row knows its tenant alone.
    fileprivate func places(of bounds: AdminKey.Bounds) async throws -> Places {
        switch bounds {
        case .everything: return Places()
        case .tenant(let tenant): return Places(tenant: try await store.tenant(tenant)?.uuid.lowercased)
        case .application(let application, let tenant):
            return Places(
                tenant: try await store.tenant(tenant)?.uuid.lowercased,
                application: try await store.application(application)?.uuid.lowercased ?? "(deleted)")
        }
    }

    fileprivate func person(_ email: String) async throws -> Person {
        let email = try EmailAddress(email)
        guard let person = try await people.store.person(email) else {
            guard try await !people.store.invitations(of: email).isEmpty else {
                throw StoreError.unknown("person with the e-mail address \(email.text)")
            }
            throw StoreError.conflict(
                "\(email.text) is only invited: `belfry admin user withdraw --email \(email.text)` ends that, and `create` invites again"
            )
        }
        return person
    }
}
