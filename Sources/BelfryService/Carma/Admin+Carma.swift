import FoundationEssentials
import Hummingbird

extension Admin {
    /// The customers of Carma that moved here: `/admin/v1/carma/…`. Operators alone see them, since a customer's apps may belong to
    /// several tenants.
    struct CarmaCustomers: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.open(.get, "carma/accounts", operators(listAccounts)),
                factory.open(.post, "carma/accounts", operators(createAccount)),
                factory.open(.post, "carma/accounts/:account_id/rotate", operators("account", rotate)),
                factory.open(.delete, "carma/accounts/:account_id", operators("account", deleteAccount)),
                factory.open(.get, "carma/apps", operators(listApps)),
                factory.open(.post, "carma/apps", operators(createApp)),
                factory.open(.delete, "carma/apps/:carma_app_id", operators("app", deleteApp)),
                factory.open(.get, "carma/triggers", operators(listTriggers)),
                factory.open(.post, "carma/triggers", operators(createTrigger)),
                factory.open(.delete, "carma/triggers/:trigger_id", operators("trigger", deleteTrigger)),
            ]
        }

        /// - Parameter thing: the thing that the path names; callers other than operators get a 404 for it.
        private func operators(
            _ thing: String? = nil, _ answer: @escaping @Sendable (Call) async throws -> Response
        ) -> @Sendable (Call) async throws -> Response {
            { call in
                if let thing, call.key.scope != .operator { throw APIError.missing(thing) }
                try call.require(.administer, on: .everything, called: "customer")
                return try await answer(call)
            }
        }

        private func operators(
            _ answer: @escaping @Sendable (Call) async throws -> Response
        ) -> @Sendable (Call) async throws -> Response { operators(nil, answer) }

        // MARK: Accounts

        private func listAccounts(_ call: Call) async throws -> Response {
            let accounts = try await factory.store.carmaAccounts()
            return try Response(CarmaAccountsReply(accounts: accounts.map { CarmaAccountReply($0) }))
        }

        private func createAccount(_ call: Call) async throws -> Response {
            let body = try await call.body(as: NewCarmaAccount.self)
            let (customer, user, password) = try body.required()
            let made = try await factory.admin.createCarmaAccount(
                customerID: customer, user: user, password: password, by: call.author)
            return Self.warning(of: password, in: try .created(CarmaAccountReply(made.account, token: made.token)))
        }

        private func rotate(_ call: Call) async throws -> Response {
            let account = try await account(call)
            let password = try await call.bodyIfAny(as: NewCarmaPassword.self).password
            let token = try await factory.admin.rotateCarmaAccount(account, password: password, by: call.author)
            return Self.warning(of: password, in: try Response(CarmaAccountReply(account, token: token)))
        }

        private static func warning(of password: String?, in response: Response) -> Response {
            guard let words = password.flatMap(CarmaAccount.warning) else { return response }
            var response = response
            response.headers[.warning] = "299 - \"\(words)\""
            return response
        }

        private func deleteAccount(_ call: Call) async throws -> Response {
            try await factory.admin.deleteCarmaAccount(try await account(call), by: call.author)
            return Response(status: .noContent)
        }

        private func account(_ call: Call) async throws -> CarmaAccount {
            let key: Key<CarmaAccount>? = call.key("account_id")
            return try await factory.store.carmaAccounts().first(where: { $0.key == key }).orMissing("account")
        }

        // MARK: Apps

        private func listApps(_ call: Call) async throws -> Response {
            var replies: [CarmaAppReply] = []
            for app in try await factory.store.carmaApps() {
                guard let application = try await factory.store.application(app.applicationKey) else { continue }
                replies.append(CarmaAppReply(app, application))
            }
            return try Response(CarmaAppsReply(apps: replies))
        }

        private func createApp(_ call: Call) async throws -> Response {
            let (customer, appID, uuid) = try await call.body(as: NewCarmaApp.self).required()
            guard let application = try await factory.store.application(uuid) else { throw APIError.missing("app") }
            let app = try await factory.admin.createCarmaApp(
                customerID: customer, appID: appID, for: application, by: call.author)
            return try .created(CarmaAppReply(app, application))
        }

        private func deleteApp(_ call: Call) async throws -> Response {
            let key: Key<CarmaApp>? = call.key("carma_app_id")
            let app = try await factory.store.carmaApps().first(where: { $0.key == key }).orMissing("app")
            try await factory.admin.deleteCarmaApp(app, by: call.author)
            return Response(status: .noContent)
        }

        // MARK: Triggers

        private func listTriggers(_ call: Call) async throws -> Response {
            var replies: [CarmaTriggerReply] = []
            for app in try await factory.store.carmaApps() {
                let triggers = try await factory.store.carmaTriggers(of: app.key)
                replies += triggers.map { CarmaTriggerReply($0, of: app) }
            }
            return try Response(CarmaTriggersReply(triggers: replies))
        }

        private func createTrigger(_ call: Call) async throws -> Response {
            let (customer, appID, template) = try await call.body(as: NewCarmaTrigger.self).required()
            let app = try await factory.store.carmaApp(appID.normalized, of: customer).orMissing("app")
            let trigger = try await factory.admin.createCarmaTrigger(template, of: app, by: call.author)
            return try .created(CarmaTriggerReply(trigger, of: app))
        }

        private func deleteTrigger(_ call: Call) async throws -> Response {
            guard let key: Key<CarmaTrigger> = call.key("trigger_id"),
                let trigger = try await factory.store.carmaTrigger(key),
                let app = try await factory.store.carmaApps().first(where: { $0.key == trigger.app })
            else { throw APIError.missing("trigger") }
            try await factory.admin.deleteCarmaTrigger(trigger.key, of: app, by: call.author)
            return Response(status: .noContent)
        }
    }
}
