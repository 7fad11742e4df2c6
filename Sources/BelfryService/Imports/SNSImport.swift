/// An endpoint of Amazon SNS, as `aws sns list-endpoints-by-platform-application` lists it.
///
/// Source: Amazon SNS API reference, ListEndpointsByPlatformApplication, and "Mobile push API actions" for the parts of an ARN:
/// `arn:aws:sns:REGION:ACCOUNT:endpoint/SERVICE/APPLICATION/UUID`.
struct SNSImport: ImportRowParser {
    func row(_ bytes: [UInt8]) throws(InvalidInput) -> ImportRow {
        var row = ImportRow()
        var arn: String?
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "EndpointArn": arn = try reader.string(name)
            case "Attributes":
                try reader.object(name) { reader, attribute throws(InvalidInput) in
                    switch attribute {
                    case "Token": row.token = try reader.string("Attributes.Token") ?? ""
                    case "Enabled": row.isActive = try reader.string("Attributes.Enabled")?.lowercased() != "false"
                    case "CustomUserData":
                        row.about.alias = try reader.string("Attributes.CustomUserData").given
                    default: try reader.skip()
                    }
                }
            default: try reader.skip()
            }
        }
        let parts = arn?.split(separator: "/") ?? []
        guard parts.count == 4, let service = Self.services[String(parts[1])] else {
            throw InvalidInput(field: "EndpointArn", "has to end with endpoint/SERVICE/APPLICATION/UUID")
        }
        (row.kinds, row.mode) = service
        row.id = String(parts[3])
        return row
    }

    private static let services = PinpointImport.channels.merging(
        ["WNS": ([.windows8], nil), "MPNS": ([.windowsPhone], nil)]) { $1 }
}
