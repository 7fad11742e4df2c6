import FoundationEssentials

// The stored form of a target. It was validated when it was accepted, and is not validated again when it is read.

extension Target {
    /// Decodes the stored JSON. Throws `InvalidInput` if it is malformed.
    package init(stored text: [UInt8]) throws(InvalidInput) {
        var devices: [UUID]?
        var topics: [String] = []
        var customUserIDs: [String] = []
        var platforms: [PlatformKind]?
        var isInteractiveOnly = false
        try JSONReader.document(text) { reader, key throws(InvalidInput) in
            switch key {
            case "devices": devices = try Self.parsed(reader.strings(key), key) { UUID(uuidString: $0) }
            case "topics": topics = try reader.strings(key) ?? []
            case "customUserIDs": customUserIDs = try reader.strings(key) ?? []
            case "platforms": platforms = try Self.parsed(reader.strings(key), key) { PlatformKind(rawValue: $0) }
            case "isInteractiveOnly": isInteractiveOnly = try reader.bool(key) ?? false
            default: try reader.skip()
            }
        }
        self.init(
            unchecked: devices, topics: topics, customUserIDs: customUserIDs, platforms: platforms,
            isInteractiveOnly: isInteractiveOnly)
    }

    private static func parsed<Element>(
        _ names: [String]?, _ field: String, _ parse: (String) -> Element?
    ) throws(InvalidInput) -> [Element]? {
        guard let names else { return nil }
        let elements = names.compactMap(parse)
        guard elements.count == names.count else { throw InvalidInput(field: field, "has an unknown name") }
        return elements
    }

    /// The stored form.
    package var storedText: String {
        var members: JSONObject = [
            "topics": .strings(topics), "customUserIDs": .strings(customUserIDs),
            "isInteractiveOnly": .bool(isInteractiveOnly),
        ]
        members["devices"] = devices.map { .strings($0.map(\.uuidString)) }
        members["platforms"] = platforms.map { .strings($0.map(\.rawValue)) }
        return JSONValue.object(members).storedText
    }
}
