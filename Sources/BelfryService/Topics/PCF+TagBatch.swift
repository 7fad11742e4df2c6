import FoundationEssentials
import Hummingbird

extension PCF {
    /// The body of `POST /v1/tags/batch`, and both of its answers.
    enum TagBatch {
        /// The documentation names no limit.
        static let itemsMax = 1_024
        /// The limit on the tags of all items, and so on the writer's work for one request.
        static let tagsMax = 32_768

        /// One device and its tags, as they were sent.
        struct Item: Sendable {
            var token: String?
            var uuid: String?
            var tags: [String] = []

            /// The fault of the item itself.
            var fault: String? {
                if (token == nil) == (uuid == nil) { return "Name either a registration_token or a device_uuid" }
                if let uuid, UUID(text: uuid) == nil { return "device_uuid is not a UUID" }
                do {
                    _ = try Topic.normalized(tags, field: "tags")
                    return nil
                } catch {
                    return error.description
                }
            }

            /// nil when it has a fault.
            var subscription: Subscription? {
                guard fault == nil, let topics = try? Topic.normalized(tags, field: "tags") else { return nil }
                let name =
                    token.map { .token($0) } ?? uuid.flatMap { UUID(text: $0) }.map { Subscription.Name.uuid($0) }
                return name.map { Subscription(device: $0, topics: Set(topics)) }
            }

            fileprivate func write(to json: inout JSONWriter) {
                if let uuid { json.string("device_uuid", uuid) }
                if let token { json.string("registration_token", token) }
            }
        }

        static func parse(_ bytes: [UInt8], _ unknown: UnknownFields = .refused) throws(InvalidInput) -> [Item] {
            var items: [Item] = []
            var tags = 0
            try JSONReader.list(bytes) { reader, index throws(InvalidInput) in
                guard items.count < itemsMax else {
                    throw InvalidInput(field: "body", "has more than \(itemsMax) elements, which is the limit")
                }
                let item = try item(from: &reader, unknown, field: "[\(index)]")
                tags += item.tags.count
                guard tags <= tagsMax else {
                    throw InvalidInput(
                        field: "body", "has more than \(tagsMax) tags altogether, which is the limit for one request")
                }
                items.append(item)
            }
            return items
        }

        private static func item(
            from reader: inout JSONReader, _ unknown: UnknownFields, field: String
        ) throws(InvalidInput) -> Item {
            var item = Item()
            var ignored = IgnoredFields()
            try reader.object(field) { reader, key throws(InvalidInput) in
                switch key {
                case "registration_token": item.token = try reader.string("\(field).registration_token")
                case "device_uuid": item.uuid = try reader.string("\(field).device_uuid")
                case "tags": item.tags = try reader.strings("\(field).tags") ?? []
                default:
                    try unknown.take(
                        key, under: "\(field).", of: "an element",
                        known: ["registration_token", "device_uuid", "tags"], from: &reader, &ignored)
                }
            }
            return item
        }

        /// The items that were subscribed, by the names in the request.
        static func answer(_ items: [Item]) -> Response {
            .object { json in
                json.array("device_uuid", items.compactMap(\.uuid)) { $0.text($1) }
                json.array("registration_token", items.compactMap(\.token)) { $0.text($1) }
            }
        }

        /// The one error body that the original documents: the fault of each refused item.
        static func refusal(_ items: [Item], _ faults: [String?]) -> Response {
            .written(status: .badRequest) { json in
                json.list(zip(items, faults).filter { $0.1 != nil }) { json, refused in
                    json.object { json in
                        refused.0.write(to: &json)
                        json.string("error", refused.1)
                    }
                }
            }
        }
    }
}
