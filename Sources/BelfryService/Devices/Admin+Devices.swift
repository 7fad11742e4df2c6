import FoundationEssentials
import Hummingbird
import Metrics

extension Admin {
    /// Devices of an application: `/admin/v1/apps/:app_uuid/devices`.
    struct Devices: Sendable {
        let factory: RouteFactory
        private let registered = Counter(metric: .registrations)

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/devices", .read, search),
                factory.application(.post, "apps/:app_uuid/devices", .change, create).repeatable,
                factory.device(.get, "apps/:app_uuid/devices/:device_uuid", .read, show),
                factory.device(.patch, "apps/:app_uuid/devices/:device_uuid", .change, update),
                factory.device(.delete, "apps/:app_uuid/devices/:device_uuid", .change, erase),
                factory.device(.post, "apps/:app_uuid/devices/:device_uuid/deactivate", .change, deactivate).repeatable,
                factory.device(.post, "apps/:app_uuid/devices/:device_uuid/test-push", .send, testPush).repeatable,
            ]
        }

        /// Searches by a part of the UUID, token, custom user id or alias, by topic, on one platform or all, and by the conditions of a
        /// `DeviceFilter`.
        private func search(_ call: Call, _ application: Application) async throws -> Response {
            let query = try Query(
                call,
                Query.paging + [
                    "q", "topic", "platform_uuid", "active", "custom_user_id", "seen_from", "seen_before", "os_version",
                    "unseen",
                ])
            let limit = try query.limit()
            let platforms = try await factory.platforms(query.text("platform_uuid"), of: application)
            let topic = try query.text("topic").map { try Topic.normalized($0, field: "topic") }
            var filter = DeviceFilter()
            if query.text("active") != nil { filter.isActive = try query.bool("active") }
            filter.customUserID = query.text("custom_user_id")
            filter.seenFrom = try query.instant("seen_from")
            filter.seenBefore = try query.instant("seen_before")
            filter.osVersion = query.text("os_version")
            filter.isUnseen = try query.bool("unseen")
            let search = DeviceSearch(
                platforms: platforms.map(\.key), text: query.text("q"), topic: topic, filter: filter)
            let after = try query.cursor().map { Key<Device>($0[0]) }
            let page = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.devicePage(
                    search, after: after, limit: limit, within: DeviceSearch.searchedFor, isCounted: false)
            }
            let byKey = Dictionary(uniqueKeysWithValues: platforms.map { ($0.key, $0) })
            return .object { json in
                json.array("devices", page.devices) { json, device in
                    guard let platform = byKey[device.platformKey] else { return }
                    json.object { $0.device(device, on: platform) }
                }
                if page.isCut { json.bool("partial", true) }
                json.next(page.next.map { Cursor($0.rawValue) })
            }
        }

        /// Registers a device as its app would; a token that is known is the device it was.
        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: NewDevice.self)
            let platform = try await platform(try body.requiredPlatform(), of: application)
            let device = try await Self.namingTopics {
                try await factory.admin.register(
                    try body.registration(for: platform.kind), on: platform, of: application, by: call.author)
            }
            registered.increment()
            var ignored = IgnoredFields()
            ignored.remark(device.token, on: platform)
            return Response.object(status: .created) { $0.device(device, on: platform) }.warning(of: ignored)
        }

        /// Fields that are left out stay as they are.
        private func update(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let change = try await call.body(as: DeviceChangeBody.self).change()
            let updated = try await Self.namingTopics {
                try await factory.admin.update(device, on: platform, of: application, change, by: call.author)
            }
            return .object { $0.device(updated, on: platform) }
        }

        /// Names the topics that are refused as this API does: the field of a registration is `tags`.
        private static func namingTopics(_ register: () async throws -> Device) async throws -> Device {
            do { return try await register() } catch let fault as InvalidInput {
                throw fault.renamed([
                    "tags": "topics", "tags.subscribe": "subscribe", "tags.unsubscribe": "unsubscribe",
                ])
            }
        }

        private func platform(_ uuid: UUID, of application: Application) async throws -> Platform {
            let platforms = try await factory.store.platforms(of: application.key)
            return try platforms.first { $0.uuid == uuid }.orMissing("platform")
        }

        /// Shows a device with the details that are kept beside it.
        private func show(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let detail = try await factory.store.detail(of: device.key, on: platform.key) ?? DeviceDetail()
            let profile = try await factory.store.profile(of: device.key, on: platform.key)
            return .object { json in
                json.device(device, on: platform)
                json.string("language", detail.language)
                json.string("time_zone", detail.timeZone)
                json.integer("badge", detail.badge)
                json.value("encryption_keys", detail.encryptionKeys?.json ?? .null)
                json.string("app_version", profile.appVersion)
                json.string("country", profile.country)
                json.value("attributes", .object(profile.attributesJSON))
            }
        }

        /// The device keeps its UUID, and becomes active when its app registers again.
        private func deactivate(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            try await factory.admin.deactivate(device, on: platform, of: application, by: call.author)
            return Response(status: .noContent)
        }

        /// Deletes a device with all that is kept of it.
        private func erase(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            try await factory.admin.erase(device, on: platform, of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func testPush(
            _ call: Call, _ device: Device, _ platform: Platform, _ application: Application
        ) async throws -> Response {
            let deadline = ContinuousClock.now + factory.verdictDeadline
            let body = try await call.bodyIfAny(as: TestPush.self)
            let pushRequest = try body.pushRequest(to: device, at: factory.clock.now)
            return try await factory.shares.holding(.tests, for: ShareHolder(call.key, application)) {
                let push = try await factory.pushes.sendTest(
                    pushRequest, to: device, of: application, by: call.author)
                guard body.isWaiting else { return try factory.accepted(push, call) }
                factory.note(push, call)
                let answer = try await factory.pushes.verdict(on: device, of: push, by: deadline)
                return try .created(TestedPushReply(push, answer))
            }
        }
    }

    private struct NewDevice: Body {
        static let fields =
            [
                "platform_uuid", "registration_token", "os", "os_version", "device_model", "device_manufacturer",
                "device_alias", "custom_user_id", "topics", "language", "time_zone", "encryption_keys",
            ] + ProfileFields.names
        private var platform: UUID?
        private var token: RegistrationToken?
        private var about = Device.About()
        private var customUserID: String?
        private var topics: [String] = []
        private var language: String?
        private var timeZone: String?
        private var encryptionKeys: EncryptionKeys?
        private var profile = ProfileFields()

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            if try profile.read(field, from: &reader) { return }
            switch field {
            case "platform_uuid": platform = try reader.uuid(field)
            case "registration_token": token = try RegistrationToken(from: &reader)
            case "os": about.os = try reader.string(field)
            case "os_version": about.osVersion = try reader.string(field)
            case "device_model": about.model = try reader.string(field)
            case "device_manufacturer": about.manufacturer = try reader.string(field)
            case "device_alias": about.alias = try reader.string(field)
            case "custom_user_id": customUserID = try reader.string(field)
            case "language": language = try reader.string(field)
            case "time_zone": timeZone = try reader.string(field)
            case "encryption_keys": encryptionKeys = try EncryptionKeys(field, from: &reader)
            default: topics = try reader.strings(field) ?? []
            }
        }

        func requiredPlatform() throws(InvalidInput) -> UUID {
            guard let platform else { throw InvalidInput.missing("platform_uuid") }
            return platform
        }

        func registration(for kind: PlatformKind) throws(InvalidInput) -> Registration {
            guard let token else { throw InvalidInput.missing("registration_token") }
            let names = try Topic.normalized(topics, field: "topics")
            // As its app's registration, it says all of it: an alias that is left out is none.
            var about = about
            about.alias = about.alias ?? ""
            return try Registration(
                token: try token.deviceToken(for: kind), about: about, customUserID: try .user(customUserID),
                topics: .replace(Set(names)),
                detail: try DeviceDetail.Change(
                    told: language, timeZone: timeZone, encryptionKeys: encryptionKeys),
                profile: try profile.profile())
        }
    }

    private struct DeviceChangeBody: Body {
        static let fields =
            ["device_alias", "custom_user_id", "topics", "subscribe", "unsubscribe"] + ProfileFields.names
        private var alias: String?
        private var customUserID = Registration.Change<String>.keep
        private var topics: [String]?
        private var subscribe: [String] = []
        private var unsubscribe: [String] = []
        private var profile = ProfileFields()

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            if try profile.read(field, from: &reader) { return }
            switch field {
            case "device_alias": alias = try reader.string(field) ?? ""
            case "custom_user_id": customUserID = try .user(reader.string(field))
            case "topics": topics = try reader.strings(field)
            case "subscribe": subscribe = try reader.strings(field) ?? []
            default: unsubscribe = try reader.strings(field) ?? []
            }
        }

        func change() throws(InvalidInput) -> DeviceChange {
            guard topics == nil || (subscribe.isEmpty && unsubscribe.isEmpty) else {
                throw InvalidInput(
                    field: "topics", "is the full set, so nothing is subscribed or unsubscribed beside it")
            }
            let change: Registration.TopicChange
            if let topics {
                change = .replace(Set(try Topic.normalized(topics, field: "topics")))
            } else {
                change = .change(
                    subscribe: Set(try Topic.normalized(subscribe, field: "subscribe")),
                    unsubscribe: Set(try Topic.normalized(unsubscribe, field: "unsubscribe")))
            }
            return DeviceChange(
                alias: alias, customUserID: customUserID, topics: change, profile: try profile.profile())
        }
    }

    /// A push without a target: it goes to the device of the path.
    private struct TestPush: Body {
        static let fields = ["body", "message", "expires_at", "urgency", "at_most_once", "wait"]
        static let sends = true
        private var text: String?
        private var push = PushBody()
        /// Whether the caller wants the provider's verdict.
        private(set) var isWaiting = false

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "body": text = try reader.string(field)
            case "wait": isWaiting = try reader.bool(field) ?? false
            default: try push.read(field, from: &reader)
            }
        }

        func pushRequest(to device: Device, at now: Instant) throws(InvalidInput) -> PushRequest {
            try push.checkTimes(at: now)
            let message = try push.content()
            guard text == nil || message == nil else {
                throw InvalidInput(field: "body", "and message exclude each other")
            }
            let content = message ?? Push.Content(body: text ?? "This is a test.")
            return try push.pushRequest(content: content, target: Target(devices: [device.uuid]))
        }
    }
}

extension JSONWriter {
    mutating func device(_ device: Device, on platform: Platform) {
        uuid("device_uuid", device.uuid)
        uuid("platform_uuid", platform.uuid)
        string("type", platform.kind.rawValue)
        bool("active", device.isActive)
        string("registration_token", device.token?.text(for: platform.kind))
        string("os", device.about.os)
        string("os_version", device.about.osVersion)
        string("device_model", device.about.model)
        string("device_manufacturer", device.about.manufacturer)
        string("device_alias", device.shownAlias)
        string("custom_user_id", device.customUserID)
        strings("topics", device.topics)
        string("registered_at", device.registeredAt.text)
        string("imported_at", device.importMark?.importedAt.text)
        string("import_stage", device.importMark.map { "\($0.stage)" })
    }
}

extension PCF {
    /// `GET /v1/registration/:device_uuid/messages`, which PCF does not have: an app asks for the messages sent to it.
    struct DeviceMessages: Sendable {
        let store: any Store
        let service: DeviceMessageService

        func list(_ uuid: UUID?, _ request: Request, on platform: Platform) async throws -> Response {
            let limit = try Self.limit(request.uri.queryParameters["limit"].map(String.init))
            guard let uuid, let device = try await store.device(uuid, on: platform.key) else {
                throw APIError(.notFound, "This platform has no device with that UUID")
            }
            let found = try await service.latest(of: device, on: platform, limit: limit)
            return .object { json in
                json.array("messages", found) { json, message in
                    json.object { json in
                        json.uuid("receipt_id", message.push.receiptID)
                        json.integer("accepted_at", message.push.acceptedAt.milliseconds)
                        json.integer("expires_at", message.push.expiresAt?.milliseconds)
                        json.value("payload", message.payload)
                    }
                }
            }
        }

        private static func limit(_ text: String?) throws(InvalidInput) -> Int {
            guard let text else { return DeviceMessage.countMax }
            guard let limit = Int(text), 1...DeviceMessage.countMax ~= limit else {
                throw InvalidInput(
                    field: "limit", "is '\(text.prefix(24))', it has to be 1 to \(DeviceMessage.countMax)")
            }
            return limit
        }
    }
}

extension Device {
    /// The alias as callers see it: an empty alias from an app means none.
    var shownAlias: String? { about.alias.flatMap { $0.isEmpty ? nil : $0 } }
}
