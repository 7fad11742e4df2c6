import BelfryService

// Replies of the admin API about Carma's customers.

extension Admin {
    package struct CarmaAccountsReply: Codable, Sendable {
        package let accounts: [CarmaAccountReply]
    }

    package struct CarmaAccountReply: Codable, Sendable {
        package let account_id: Int64
        package let customer_id: Int64
        package let user: String
        package let created_at: String
        /// Shown once, in the reply to its creation or rotation.
        package var token: String?

        init(_ account: CarmaAccount, token: String? = nil) {
            account_id = account.key.rawValue
            customer_id = account.customerID
            user = account.user
            created_at = account.createdAt.text
            self.token = token
        }
    }

    package struct CarmaAppsReply: Codable, Sendable {
        package let apps: [CarmaAppReply]
    }

    package struct CarmaAppReply: Codable, Sendable {
        package let carma_app_id: Int64
        package let customer_id: Int64
        package let app_id: String
        package let app_uuid: String
        package let list_id: Int64

        init(_ app: CarmaApp, _ application: Application) {
            carma_app_id = app.key.rawValue
            customer_id = app.customerID
            app_id = app.appID
            app_uuid = application.uuid.lowercased
            list_id = app.listID
        }
    }

    package struct CarmaTriggersReply: Codable, Sendable {
        package let triggers: [CarmaTriggerReply]
    }

    package struct CarmaTriggerReply: Codable, Sendable {
        package let trigger_id: Int64
        package let customer_id: Int64
        package let app_id: String
        package let name: String

        init(_ trigger: CarmaTrigger, of app: CarmaApp) {
            trigger_id = trigger.key.rawValue
            customer_id = app.customerID
            app_id = app.appID
            name = trigger.template.name
        }
    }
}
