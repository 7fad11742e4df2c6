/// An endpoint of Amazon Pinpoint, a line of its export.
///
/// Source: Amazon Pinpoint developer guide, "Exporting endpoints from Amazon Pinpoint", and the EndpointResponse of the API
/// reference.
struct PinpointImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        let endpoint = try JSONValue(json: bytes, field: "row")
        guard case .object = endpoint else { throw InvalidInput(field: "row", "is no JSON object") }
        var row = ImportRow()
        let channel = endpoint["ChannelType"]?.stringValue ?? ""
        guard let (kinds, mode) = Self.channels[channel] else {
            throw InvalidInput(field: "ChannelType", "is '\(channel)', which no push provider delivers to")
        }
        (row.kinds, row.mode) = (kinds, mode)
        row.token = endpoint["Address"]?.stringValue ?? ""
        row.id = endpoint["Id"]?.stringValue
        let device = endpoint["Demographic"]
        row.about = Device.About(
            os: device?["Platform"]?.stringValue, osVersion: device?["PlatformVersion"]?.stringValue,
            model: device?["Model"]?.stringValue, manufacturer: device?["Make"]?.stringValue)
        row.customUserID = endpoint["User"].map { $0["UserId"]?.stringValue ?? "" }
        row.topics = try endpoint["Attributes"].map(Self.topics)
        row.note(
            language: device?["Locale"]?.stringValue?.replacing("_", with: "-"),
            timeZone: device?["Timezone"]?.stringValue)
        row.note(
            appVersion: device?["AppVersion"]?.stringValue, country: endpoint["Location"]?["Country"]?.stringValue,
            attributes: endpoint["Attributes"])
        row.lastSeenAt = endpoint["EffectiveDate"]?.stringValue.flatMap(ImportTime.read)
        row.isActive =
            endpoint["EndpointStatus"]?.stringValue != "INACTIVE" && endpoint["OptOut"]?.stringValue != "ALL"
        return row
    }

    static let channels: [String: ([PlatformKind], Platform.Mode?)] = [
        "APNS": ([.ios], .production), "APNS_SANDBOX": ([.ios], .development),
        "APNS_VOIP": ([.apple(.voip)], .production), "APNS_VOIP_SANDBOX": ([.apple(.voip)], .development),
        "GCM": ([.androidFCM, .android], nil), "ADM": ([.amazon], nil), "BAIDU": ([.androidBaidu], nil),
    ]

    /// An attribute has several values; topics are `attribute:value`.
    private static func topics(_ attributes: JSONValue) throws(InvalidInput) -> [String] {
        guard !attributes.isNull else { return [] }
        return try attributes.demandObject("Attributes").flatMap { name, values -> [String] in
            guard case .array(let values) = values else { return ["\(name):\(values.importedText)"] }
            return values.map { "\(name):\($0.importedText)" }
        }.sorted()
    }
}
