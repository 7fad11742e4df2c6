import FoundationEssentials
import Hummingbird
import Metrics

extension Genero {
    /// Carries out the commands for one application: its Apple and Android platforms hold the tokens.
    struct TokenMaintainer: Sendable {
        let services: Services
        let application: Application
        let options: [String: String]
        private var store: any Store { services.store }
        private var registrations: RegistrationService { services.registrations }

        private static let registered = Counter(metric: .registrations)

        /// The option by which an unregistration of an unknown token succeeds, as it did not in the original.
        static let lenientOption = "unregister_unknown"

        func answer(_ command: Command, _ message: Message) async -> CommandResult {
            do {
                switch command {
                case .register: return try await register(message)
                case .unregister: return try await unregister(message)
                case .badge: return try await setBadge(message)
                }
            } catch {
                return Self.failed(command, message, by: error)
            }
        }

        /// The answer to a command that failed. It may still be carried out where it took too long; a repeat does no harm.
        static func failed(_ command: Command, _ message: Message, by error: any Error) -> CommandResult {
            CommandResult(failure(of: command), words(for: error), token: message.token)
        }

        /// Registers a token. Nothing changes where it is registered already, not even its user; one without a user, as a provider's record
        /// registers it, gets the app's.
        private func register(_ message: Message) async throws -> CommandResult {
            try message.checkType()
            let name = message.isApple ? "APNS" : "FCM"
            guard let platform = try await platforms(isApple: message.isApple).first else {
                return CommandResult(.notInserted, "This application takes no tokens of \(name)", token: message.token)
            }
            let token = try DeviceToken(anySpelling: message.token, for: platform.kind)
            let holder = try await store.holders(of: [token], on: platform.key)[token]
            let user = message.user.flatMap { $0.isEmpty ? nil : $0 }
            if let holder, holder.isActive {
                let device = try await store.device(holder.uuid, on: platform.key)
                if user == nil || device?.customUserID != nil {
                    return CommandResult(.known, "\(name) token is already registered", token: message.token)
                }
            }
            if let user { try Self.check(user: user) }
            let registration = try Registration(
                token: token, about: Device.About(),
                customUserID: user.map { .set($0) } ?? .clear, topics: .keep,
                detail: try await reset(holder?.device, on: platform, token, as: message.token))
            _ = try await registrations.register(registration, as: nil, on: platform)
            Self.registered.increment()
            return CommandResult(.done, "\(name) token is now registered", token: message.token)
        }

        private static func check(user: String) throws(InvalidInput) {
            do throws(InvalidInput) { _ = try User.checked(id: user) } catch {
                throw error.renamed(["user_id": "app_user"])
            }
        }

        /// Sets the badge number to 0, and keeps an unusual spelling of the token for readers of the list.
        ///
        /// - Parameter device: the one that has the token already.
        private func reset(
            _ device: Key<Device>?, on platform: Platform, _ token: DeviceToken, as text: String
        ) async throws -> DeviceDetail.Change {
            if token.text(for: platform.kind) == text {
                guard let device, try await store.detail(of: device, on: platform.key) != nil else {
                    return DeviceDetail.Change()
                }
            }
            return DeviceDetail.Change(badge: 0, spelling: text)
        }

        private func unregister(_ message: Message) async throws -> CommandResult {
            guard let (holder, platform) = try await holder(of: message), holder.isActive else {
                let isLenient = options[Self.lenientOption] == "0"
                return CommandResult(isLenient ? .done : .unknownToken, "Token is not registered", token: message.token)
            }
            try await registrations.unregister(holder.uuid, on: platform.key)
            return CommandResult(.done, "Token is no longer registered", token: message.token)
        }

        /// An unknown token is no error, as an update of no row was none.
        private func setBadge(_ message: Message) async throws -> CommandResult {
            let badge = BadgeChange.kept(message.badge)
            if let (holder, platform) = try await holder(of: message) {
                try await registrations.set(DeviceDetail.Change(badge: badge), of: holder.device, on: platform)
            }
            return CommandResult(.done, "Badge number is now \(badge)", token: message.token)
        }

        /// The device that has the token, on whichever platform.
        private func holder(of message: Message) async throws -> (TokenHolder, Platform)? {
            var inactive: (TokenHolder, Platform)?
            for platform in try await platforms(isApple: true) + platforms(isApple: false) {
                guard let token = try? DeviceToken(anySpelling: message.token, for: platform.kind),
                    let holder = try await store.holders(of: [token], on: platform.key)[token]
                else { continue }
                if holder.isActive { return (holder, platform) }
                inactive = inactive ?? (holder, platform)
            }
            return inactive
        }

        /// The Apple or Android platforms of the application; of each kind, those for production first.
        private func platforms(isApple: Bool) async throws -> [Platform] {
            let kinds: [PlatformKind] = isApple ? [.ios] : [.androidFCM, .android]
            let all = try await store.platforms(of: application.key)
            return kinds.flatMap { kind in
                all.filter { $0.kind == kind && $0.mode == .production }
                    + all.filter { $0.kind == kind && $0.mode != .production }
            }
        }

        private static func failure(of command: Command) -> Status {
            switch command {
            case .register: .notInserted
            case .unregister: .exception
            case .badge: .badgeNotStored
            }
        }

        /// Nothing of the server's own.
        private static func words(for error: any Error) -> String {
            switch error {
            case let error as InvalidInput: "\(error)"
            case StoreError.quotaExceeded(let excess): excess.description
            case StoreError.overloaded: "The server is busy, try again"
            default: "The server cannot do it at present"
            }
        }
    }
}

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
