import BelfryService
import FoundationEssentials
import Hummingbird

extension Admin {
    /// The tokens of an application as Genero's token maintainer kept them: `/admin/v1/apps/:app_uuid/genero-tokens`.
    struct GeneroTokens: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.application(.get, "apps/:app_uuid/genero-tokens", .read, list)] }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(call, Query.paging)
            let limit = try query.limit()
            let after = try query.cursor()?[0] ?? 0
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.generoTokens(of: application.key, after: after, limit: limit)
            }
            return try Response(
                GeneroTokensReply(
                    tokens: found.map(GeneroTokenReply.init),
                    next_cursor: found.count == limit ? found.last.map { Cursor($0.id).text } : nil))
        }
    }

    package struct GeneroTokensReply: Codable, Sendable {
        let tokens: [GeneroTokenReply]
        @OrNull var next_cursor: String?
    }

    /// The columns of the original table.
    package struct GeneroTokenReply: Codable, Sendable {
        let id: Int64
        let notification_type: String
        let registration_token: String
        let badge_number: Int64
        let app_user: String
        let reg_date: String

        init(_ token: GeneroToken) {
            id = token.id
            notification_type = token.type
            registration_token = token.token
            badge_number = token.badge
            app_user = token.user
            reg_date = token.registeredAt
        }
    }
}
