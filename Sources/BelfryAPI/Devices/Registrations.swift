import BelfryService
import FoundationEssentials
import Hummingbird
import Logging
import Metrics

extension PCF {
    /// Handlers of `/v1/registration`.
    struct Registrations: Sendable {
        typealias Stores = ApplicationStore & DeviceStore & MirrorStore & DeviceDetailStore

        let store: any Stores
        let secrets: SharedSecrets
        let options: Options
        private let registered = Counter(metric: .registrations)
        private let unmirrored = Counter(metric: .unmirrored)
        private let mistakes = CallerMistakes()

        init(store: any Stores, secrets: SharedSecrets, options: Options) {
            self.store = store
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
                let isMirrored = try await isMirrored(platform)
                let device = isMirrored ? try await store.device(uuid, on: platform.key) : nil
                try await store.unregister(uuid, on: platform.key)
                if let device { try await mirror(MirrorCall(.delete), of: device, on: platform) }
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

        /// The way back to the old server is not worth a registration: what finds no room is counted and left out.
        private func mirror(_ call: MirrorCall, of device: Device, on platform: Platform) async throws {
            if try await !store.mirror(call, of: device.key, on: platform.key) { unmirrored.increment() }
        }

        private func register(
            _ request: Request, isNew: Bool, as uuid: UUID?, on platform: Platform, _ logger: Logger
        ) async throws -> Response {
            let bytes = try await request.bytes(atMost: options.bodyBytesMax)
            let body = try RegistrationRequest.parse(bytes)
            let detail = try body.detail()
            let customUserID = try await customUserID(body.customUserID, isNew: isNew, on: platform)
            let registration = try Registration(
                body, isNew: isNew, token: try await token(in: body, of: isNew ? nil : uuid, on: platform),
                customUserID: customUserID)
            var device = try await store.register(registration, as: uuid, on: platform)
            if let uuid, !isNew, device.uuid != uuid, device.ownUUID != uuid,
                let old = try await sibling(uuid, of: platform)
            {
                device = try await inherited(by: device, from: old, registration, on: platform) ?? device
                // The app is one, and is to hear of a push once.
                if old.isActive { try await store.unregister(old.uuid, on: old.platformKey) }
            }
            if !detail.isEmpty { try await store.setDetail(of: device.key, on: platform.key, detail) }
            // Before the answer: the old server gets every registration that the app believes accepted.
            if try await isMirrored(platform) {
                try await mirror(MirrorCall(isNew ? .post : .put, body: bytes), of: device, on: platform)
            }
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

        /// The device with the values that the app had under another platform of its application: an app's update may name a new platform,
        /// and SDKs go on with differences to their last registration.
        ///
        /// A device that was here before is left as it is: it has values that the request does not have.
        ///
        /// - Parameter device: of the app's token, as the request made it.
        private func inherited(
            by device: Device, from old: Device, _ registration: Registration, on platform: Platform
        ) async throws -> Device? {
            guard Set(device.topics) == registration.topics.wanted,
                device.customUserID == registration.customUserID.applied(to: nil)
            else { return nil }
            if let detail = try await store.detail(of: old.key, on: old.platformKey) {
                let change = DeviceDetail.Change(
                    badge: detail.badge, language: detail.language, timeZone: detail.timeZone)
                try await store.setDetail(of: device.key, on: platform.key, change)
            }
            let user = registration.customUserID.applied(to: old.customUserID)
            return try await store.register(
                Registration(
                    token: registration.token,
                    about: registration.about.filled(from: old.about).filled(from: device.about),
                    customUserID: user.map { .set($0) } ?? .clear,
                    topics: .replace(registration.topics.applied(to: Set(old.topics)))),
                as: device.ownUUID, on: platform)
        }

        /// The device of a UUID on another platform of the same application.
        private func sibling(_ uuid: UUID, of platform: Platform) async throws -> Device? {
            for other in try await store.platforms(of: platform.applicationKey) where other.key != platform.key {
                if let device = try await store.device(uuid, on: other.key) { return device }
            }
            return nil
        }

        /// The change of the device's user, once the signature is checked. A POST without an id clears it: the iOS SDK leaves it out when
        /// its user has logged out. A PUT without an id keeps it.
        private func customUserID(
            _ sent: String?, isNew: Bool, on platform: Platform
        ) async throws -> Registration.Change<String> {
            guard let sent else { return isNew ? .clear : .keep }
            guard !sent.isEmpty else { return .clear }
            guard sent.utf16.count <= Registration.customUserIDCharactersMax else {
                throw InvalidInput(
                    field: "custom_user_id",
                    "is \(sent.utf16.count) characters, the limit is \(Registration.customUserIDCharactersMax)")
            }
            guard options.verifiesCustomUserIDs else { return .set(sent) }
            guard let application = try await store.application(platform.applicationKey) else {
                throw StoreError.unknown("application of this platform")
            }
            return .set(try SignedUserID.opened(sent, with: try secrets.keys(of: application)))
        }
    }
}
