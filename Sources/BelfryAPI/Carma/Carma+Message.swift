import BelfryService
import FoundationEssentials

extension CarmaService.MessageRequest {
    /// Reads what a back end posts to a trigger. Source: carmaclient, dto/sendtrigger.go.
    init(_ bytes: [UInt8]) throws(InvalidInput) {
        var request = Self()
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "originalId": request.originalID = try reader.string(name)
            case "properties":
                for (key, value) in try reader.members(name) ?? [:] where !value.isNull {
                    request.properties[key] = value.flat
                }
            case "deliveryTime":
                guard let text = try reader.string(name), !text.isEmpty else { return }
                request.deliveryTime = try Instant(Self.spelled(text), field: name)
            case "saveProps": request.savesProperties = try reader.bool(name) ?? false
            case _ where Self.fields.contains(name): try reader.skip()
            default:
                // A null says nothing.
                guard try reader.null() else {
                    throw InvalidInput.unknown(name, instead: Self.fields).withNothingSent
                }
            }
        }
        self = request
    }

    /// All that Carma's own client sends; only the first four mean something here. Source: carmaclient, dto/sendtrigger.go.
    private static let fields = [
        "originalId", "properties", "deliveryTime", "saveProps", "optOut", "customerId", "campaignId",
        "forceCreateMissingProperties",
    ]

    /// `2017-01-31T08:30:00+0100` as ISO 8601 writes it, with a colon in the zone.
    private static func spelled(_ text: String) -> String {
        let zone = text.suffix(5)
        guard text.count > 5, zone.first == "+" || zone.first == "-", zone.dropFirst().allSatisfy(\.isNumber) else {
            return text
        }
        return text.dropLast(2) + ":" + text.suffix(2)
    }
}

extension CarmaMessage {
    /// A line of a contact's history. Source: compost-carma-api, models/Messages.php, which spells `recieved` so.
    func json(contactID: String) -> JSONValue {
        .object([
            "id": .integer(key.rawValue), "contactId": .string(contactID), "deliveryId": .integer(trigger.rawValue),
            "read": .bool(readAt != nil), "readTimestamp": readAt.map { .integer($0.milliseconds) } ?? .null,
            "sentTimestamp": .integer(sentAt.milliseconds), "openInBrowserUrl": .null,
            "actions": .object([
                "opened": .bool(readAt != nil), "recieved": .bool(true), "clicked": .bool(false),
                "converted": .bool(false), "softBounce": .bool(false), "hardBounce": .bool(false),
                "unsubscribed": .bool(false), "complaint": .bool(false),
            ]),
            "type": .integer(3), "module": .string("trigger"), "name": .string(name), "archived": .bool(false),
        ])
    }
}
