import FoundationEssentials
import Hummingbird

extension Admin {
    /// The people of the dashboard and their roles: `/admin/v1/people`. They are invited at the dashboard or on the server's machine.
    struct People: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "people", list), person(.get, "", show), person(.patch, "", update),
                person(.post, "/disable", disable), person(.post, "/enable", enable),
            ]
        }

        private func person(
            _ method: HTTPRequest.Method, _ action: String,
            _ handler: @escaping @Sendable (Call, Person) async throws -> Response
        ) -> Route {
            Route(method: method, path: "people/:person_id\(action)") { call in
                let key: Key<Person> = try call.key("person_id").orMissing("person")
                let person = try await factory.store.person(key).orMissing("person")
                try call.require(.administer, on: Permission.Subject(person.bounds), called: "person")
                return try await handler(call, person)
            }
        }

        /// The people within the bounds of the caller's key.
        private func list(_ call: Call) async throws -> Response {
            try call.require(.administer, on: Permission.Subject(call.key.bounds), called: "person")
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let people = try await factory.store.people(
                within: call.key.bounds, after: try query.cursor().map { Key($0[0]) }, limit: limit)
            var replies: [PersonReply] = []
            for person in people { replies.append(try await reply(person)) }
            return try Response(
                PeopleReply(
                    people: replies,
                    next_cursor: people.count == limit ? people.last.map { Cursor($0.key.rawValue).text } : nil))
        }

        private func show(_ call: Call, _ person: Person) async throws -> Response {
            try Response(try await reply(person))
        }

        /// Changes a role. Callers cannot give more than they have: they must administer the new bounds as well as the old ones.
        private func update(_ call: Call, _ person: Person) async throws -> Response {
            let body = try await call.body(as: RoleBody.self)
            let scope = try body.required()
            let bounds = try await factory.bounds(
                tenant: body.tenant, application: body.application, or: scope == .operator ? .everything : nil, call)
            try call.require(.administer, on: Permission.Subject(bounds), called: "tenant or app")
            let changed = try await factory.admin.setRole(of: person, to: try role(scope, bounds), by: call.author)
            return try Response(try await reply(changed))
        }

        private func disable(_ call: Call, _ person: Person) async throws -> Response {
            let body = try await call.bodyIfAny(as: ShutOutBody.self)
            return try await setDisabled(true, person, endsIssued: body.issued == .end, call)
        }

        private func enable(_ call: Call, _ person: Person) async throws -> Response {
            try await setDisabled(false, person, call)
        }

        private func setDisabled(
            _ isDisabled: Bool, _ person: Person, endsIssued: Bool = true, _ call: Call
        ) async throws -> Response {
            try await factory.admin.setDisabled(isDisabled, person, endsIssued: endsIssued, by: call.author)
            guard let changed = try await factory.store.person(person.key) else { throw APIError.missing("person") }
            return try Response(try await reply(changed))
        }

        private func role(_ scope: AdminKey.Scope, _ bounds: AdminKey.Bounds) throws(InvalidInput) -> SignOn.Role {
            do { return try SignOn.Role(scope, bounds) } catch { throw error.renamed(["scope": "role"]) }
        }

        private func reply(_ person: Person) async throws -> PersonReply {
            let uuids = try await factory.uuids(of: person.bounds)
            return PersonReply(person, tenant: uuids.tenant, application: uuids.application)
        }
    }

    private struct RoleBody: Body {
        static let fields = ["role", "tenant_uuid", "app_uuid"]
        private var role: AdminKey.Scope?
        private(set) var tenant: UUID?
        private(set) var application: UUID?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "role": role = try reader.choice(field)
            case "tenant_uuid": tenant = try reader.uuid(field)
            default: application = try reader.uuid(field)
            }
        }

        func required() throws(InvalidInput) -> AdminKey.Scope {
            guard let role else { throw InvalidInput.missing("role") }
            guard tenant == nil || application == nil else {
                throw InvalidInput(field: "tenant_uuid", "and app_uuid exclude each other")
            }
            return role
        }
    }
    /// Says whether the links and keys that a person made end when the person is shut out.
    private struct ShutOutBody: Body {
        enum Issued: String, CaseIterable { case end, stay }

        static let fields = ["links_and_keys"]
        private(set) var issued = Issued.end

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            issued = try reader.choice(field) ?? .end
        }
    }
}
