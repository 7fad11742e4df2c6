import FoundationEssentials
import Hummingbird

extension Admin {
    /// The keys that senders encrypt with: `/admin/v1/apps/:app_uuid/encryption-keys`.
    struct EncryptionKeysOfDevices: Sendable {
        let factory: RouteFactory

        var routes: [Route] { [factory.application(.post, "apps/:app_uuid/encryption-keys", .send, list)] }

        /// A page of the devices of a target that have keys. A page may have fewer than its limit, or none, where another follows.
        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: KeysBody.self)
            let target = try body.target()
            let page = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                let draft = try await factory.pushes.audience(of: target, for: application.key)
                return try await factory.store.encryptionKeys(of: draft, after: body.cursor, limit: body.limit)
            }
            var json = JSONWriter()
            json.object { json in
                json.array("devices", page.devices) { json, device in
                    json.object { json in
                        json.uuid("device_uuid", device.uuid)
                        json.string("type", device.platform.kind.rawValue)
                        json.string("p256dh", device.keys.p256dh)
                        json.string("auth", device.keys.auth)
                    }
                }
                json.next(page.end.map { Cursor($0.platform.rawValue, $0.device.rawValue) })
            }
            return Response(json: json.buffer)
        }
    }

    private struct KeysBody: Body {
        static let fields = ["target", "where", "limit", "cursor"]
        private var named: TargetBody?
        private var expression: AudienceExpression?
        private(set) var limit = EncryptedContent.devicesMax
        private(set) var cursor: KeyedDevice.Place?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "target": named = try TargetBody(field, from: &reader)
            case "where": expression = try AudienceExpression(json: reader.value(field), field: field)
            case "limit":
                guard let number = try reader.integer(field) else { return }
                guard 1...Int64(EncryptedContent.devicesMax) ~= number else {
                    throw InvalidInput(
                        field: field,
                        "is \(number), it has to be 1 to \(EncryptedContent.devicesMax), as many as a push takes")
                }
                limit = Int(number)
            default:
                guard let text = try reader.string(field) else { return }
                guard let numbers = Cursor(text)?.numbers, numbers.count == 2 else {
                    throw InvalidInput(field: field, "was not issued for this path")
                }
                cursor = KeyedDevice.Place(platform: Key(numbers[0]), device: Key(numbers[1]))
            }
        }

        func target() throws(InvalidInput) -> Target {
            guard let named else {
                guard let expression else { throw InvalidInput.missing("target") }
                return Target(expression)
            }
            guard expression == nil else { throw InvalidInput(field: "where", "and target exclude each other") }
            guard named.channels == nil else {
                throw InvalidInput(field: "target.channels", "have subscribers that only Apple knows")
            }
            return try named.checked(channels: nil)
        }
    }
}
