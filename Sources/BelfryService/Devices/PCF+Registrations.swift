import FoundationEssentials
import Hummingbird
import Logging
import Metrics

extension PCF {
    /// Handlers of `/v1/registration`.
    struct Registrations: Sendable {
        let store: any Store
        let secrets: SharedSecrets
        let options: Options
        private let registrations: RegistrationService
        private let registered = Counter(metric: .registrations)
        private let mistakes = CallerMistakes()

        init(_ services: Services, secrets: SharedSecrets, options: Options) {
            store = services.store
            registrations = services.registrations
            self.secrets = secrets
            self.options = options
        }

        func create(_ request: Request, on platform: Platform, _ logger: Logger) async throws -> Response {
            try await register(request, isNew: true, as: nil, on: platform, logger)
        }

        /// SDKs retry a failed PUT for ever, so an unknown UUID is accepted and the token identifies the device.
        func update(
            _ uuid: UUID?, _ request: Request, on platform: Platform, _ logger: Logger
        ) async throws -> Response {
            try await register(request, isNew: false, as: uuid, on: platform, logger)
        }

        func show(_ uuid: UUID?, on platform: Platform) async throws -> Response {
            guard let uuid, let device = try await store.device(uuid, on: platform.key) else {
                throw APIError(.notFound, "This platform has no device with that UUID")
            }
            return Response(json: device.json(kind: platform.kind))
        }

        /// Returns 204 for unknown devices: SDKs retry a 404 for ever.
        func delete(_ uuid: UUID?, on platform: Platform) async throws -> Response {
            if let uuid {
                let call = try await isMirrored(platform) ? MirrorCall(.delete) : nil
                try await registrations.unregister(uuid, on: platform.key, mirroring: call)
            }
            return Response(status: .noContent)
        }

        func count(on platform: Platform) async throws -> Response {
            Response(json: ByteBuffer(string: String(try await store.deviceCount(on: platform.key))))
        }

        private func isMirrored(_ platform: Platform) async throws -> Bool {
            guard options.mirrored != .none else { return false }
            return try await store.application(platform.applicationKey).map { options.mirrored.contains($0.uuid) }
                ?? false
        }

        private func register(
            _ request: Request, isNew: Bool, as uuid: UUID?, on platform: Platform, _ logger: Logger
        ) async throws -> Response {
            let bytes = try await request.bytes(atMost: options.bodyBytesMax)
            let body = try RegistrationRequest.parse(bytes)
            let detail = try body.detail()
            let customUserID = try await customUserID(body.customUserID, isNew: isNew, on: platform)
            var registration = try Registration(
                body, isNew: isNew, token: try await token(in: body, of: isNew ? nil : uuid, on: platform),
                customUserID: customUserID, detail: detail)
            if try await isMirrored(platform) {
                registration.mirrorCall = MirrorCall(isNew ? .post : .put, body: bytes)
            }
            let device = try await registrations.update(registration, as: uuid, on: platform)
            registered.increment()
            var ignored = body.ignored
            if let other = mistakes.otherSystem(body.about.os, on: platform, logger) {
                ignored.remark("os is \(other), the platform is of type \(platform.kind.rawValue)")
            }
            ignored.remark(registration.token, on: platform)
            return mistakes.tell(
                ignored, of: "platform \(platform.uuid.lowercased)",
                in: Response(json: device.json(kind: platform.kind)), logger)
        }

        /// The token that the body names. A PUT that names none is for the token its device has.
        private func token(
            in body: RegistrationRequest, of uuid: UUID?, on platform: Platform
        ) async throws -> DeviceToken {
            if let sent = body.registrationToken { return try sent.deviceToken(for: platform.kind) }
            guard let uuid, let token = try await store.device(uuid, on: platform.key)?.token else {
                throw InvalidInput(field: "registration_token", "is missing\(body.ignored.hint)")
            }
            return token
        }

        /// The change of the device's user, once the signature is checked. A POST without an id clears it: the iOS SDK leaves it out when
        /// its user has logged out. A PUT without an id keeps it.
        private func customUserID(
            _ sent: String?, isNew: Bool, on platform: Platform
        ) async throws -> Registration.Change<String> {
            guard let sent else { return isNew ? .clear : .keep }
            return try await secrets.change(
                ofUser: sent, isSigned: options.verifiesCustomUserIDs, on: platform, in: store)
        }
    }
}

extension SharedSecrets {
    /// The change of a device's user to the id that its app sent, once its signature is checked where ids are signed.
    func change(
        ofUser sent: String, isSigned: Bool, on platform: Platform, in store: any Store
    ) async throws -> Registration.Change<String> {
        guard case .set(let id) = try Registration.Change.user(sent) else { return .clear }
        guard isSigned else { return .set(id) }
        guard let application = try await store.application(platform.applicationKey) else {
            throw StoreError.unknown("application of this platform")
        }
        return .set(try SignedUserID.opened(id, with: try keys(of: application)))
    }
}
