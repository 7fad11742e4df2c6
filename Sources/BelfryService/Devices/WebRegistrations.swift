import FoundationEssentials
import Hummingbird
import Metrics

extension Web {
    /// Registers browsers. A browser is known by its subscription, a secret of the browser and its push service that others cannot name.
    struct Registrations: Sendable {
        let store: any Store
        let secrets: SharedSecrets
        let proofs: Proofs
        let shares: ConcurrencyLimiter
        let verifiesCustomUserIDs: Bool
        private let registrations: RegistrationService
        private let registered = Counter(metric: .registrations)

        init(
            _ services: Services, secrets: SharedSecrets, proofs: Proofs, verifiesCustomUserIDs: Bool
        ) {
            store = services.store
            registrations = services.registrations
            self.secrets = secrets
            self.proofs = proofs
            shares = services.shares
            self.verifiesCustomUserIDs = verifiesCustomUserIDs
        }

        func register(_ request: Request, on platform: Platform, _ access: WebAccess) async throws -> Response {
            let body = try RegistrationBody.parse(try await request.bytes(atMost: Web.bodyBytesMax))
            let token = try body.token()
            let detail = try body.detail()
            let registration = try Registration(
                token: token, about: body.about, customUserID: try await customUserID(body.customUserID, on: platform),
                topics: body.topics, detail: detail, profile: try body.profile())
            let known = try await known(body, on: platform)
            guard try isProven(token, body, known, on: platform, access) else {
                return try await prove(token, on: platform)
            }
            let isOwn = known.map { $0.token == token || $0.token == body.previous } ?? false
            let device = try await registrations.register(registration, as: isOwn ? known?.uuid : nil, on: platform)
            registered.increment()
            return Self.response(device)
        }

        /// Unknown devices are none that pushes go to, so the answer is the same.
        func end(_ request: Request, on platform: Platform) async throws -> Response {
            let body = try RegistrationBody.parse(try await request.bytes(atMost: Web.bodyBytesMax))
            let token = try body.token()
            if let known = try await known(body, on: platform), known.token == token {
                try await registrations.unregister(known.uuid, on: platform.key)
            }
            return Response(status: .noContent)
        }

        private func known(_ body: RegistrationBody, on platform: Platform) async throws -> Device? {
            guard let uuid = body.device else { return nil }
            return try await store.device(uuid, on: platform.key)
        }

        /// A subscription that is registered and active was proven before.
        private func isProven(
            _ token: DeviceToken, _ body: RegistrationBody, _ known: Device?, on platform: Platform, _ access: WebAccess
        ) throws -> Bool {
            if !access.provesRegistrations { return true }
            if let known, known.isActive, known.token == token { return true }
            guard let proof = body.proof else { return false }
            guard proofs.isProven(token, by: proof, on: platform) else {
                throw InvalidInput(field: "proof", "is not of this subscription, or it is older than 10 minutes")
            }
            return true
        }

        /// Pushes a proof that the browser has to send back, and says so.
        private func prove(_ token: DeviceToken, on platform: Platform) async throws -> Response {
            let outcome = try await shares.holding(.proofs, for: try await .of(platform, in: store)) {
                try await proofs.send(to: token, on: platform)
            }
            if let fault = outcome.proofFault { throw fault }
            return .object(status: .accepted) { $0.string("state", "proving") }
        }

        private func customUserID(
            _ sent: String?, on platform: Platform
        ) async throws -> Registration.Change<String> {
            guard let sent else { return .keep }
            return try await secrets.change(ofUser: sent, isSigned: verifiesCustomUserIDs, on: platform, in: store)
        }

        private static func response(_ device: Device) -> Response {
            .object { json in
                json.string("state", "active")
                json.string("device_uuid", device.uuid.lowercased)
                json.strings("topics", device.topics)
            }
        }
    }
}
