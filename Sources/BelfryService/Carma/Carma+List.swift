import FoundationEssentials

extension Carma {
    /// Normal lists, not those of tests. Source: help.symplify.com; `GET /lists?typeId=1`.
    static let listType = 1

    /// An import has no rehearsal: what asks for one must not change contacts.
    static func refuseDryRun(_ isAsked: Bool?) throws(InvalidInput) {
        guard isAsked == true else { return }
        throw InvalidInput(field: "dryRun", "is not known here, an import changes its contacts; nothing was changed")
    }
}

extension CarmaApp {
    /// A list, named for its app. Source: compost-carma-api, models/RecipientList.php.
    var json: JSONValue {
        .object([
            "id": .integer(listID), "listTypeId": .integer(Int64(Carma.listType)), "name": .string(appID),
            "description": .null,
        ])
    }
}

extension CarmaContact {
    /// A line of a list: the contact without its devices, with the id by which the next lines are asked for.
    func line(_ key: Key<User>, _ hasProperties: Bool) -> JSONValue {
        guard case .object(var members) = json else { return .null }
        members["deviceInfo"] = nil
        if !hasProperties { members["properties"] = nil }
        members["id"] = .integer(key.rawValue)
        members["unsubscribed"] = .bool(members["optOutDate"] != .null)
        members["mobileUnsubscribed"] = .bool(members["optOutMobileDate"] != .null)
        members["dateCreated"] = user.createdAt.map { .integer($0.milliseconds) } ?? .null
        members["dateModified"] = user.updatedAt.map { .integer($0.milliseconds) } ?? .null
        return .object(members)
    }
}

extension CarmaImport.Settings {
    /// Reads what a back end says of a list before it sends it. Source: help.symplify.com, "API database import".
    init(_ bytes: [UInt8]) throws(InvalidInput) {
        var (kind, delimiter, encoding) = (Kind.add, UInt8(ascii: ","), Encoding.utf8)
        var identity = "originalId"
        try JSONReader.document(bytes) { reader, name throws(InvalidInput) in
            switch name {
            case "type": kind = try Self.kind(try reader.value(name), name)
            case "delimiter": delimiter = try Self.delimiter(try reader.value(name), name)
            case "encoding": encoding = try Self.encoding(try reader.value(name), name)
            case "identityColumn":
                if let text = try reader.string(name), !text.isEmpty { identity = text }
            case "dryRun": try Carma.refuseDryRun(try reader.bool(name))
            default: try reader.skip()
            }
        }
        self.init(kind: kind, delimiter: delimiter, encoding: encoding, identityColumn: identity)
    }

    private static func kind(_ value: JSONValue, _ field: String) throws(InvalidInput) -> Kind {
        guard !value.isNull else { return .add }
        guard let kind = Kind(rawValue: value.flat.uppercased()) else {
            throw InvalidInput(field: field, "is '\(value.flat)', it has to be ADD, REPLACE or UNSUBSCRIBE")
        }
        return kind
    }

    /// The number of a character of ASCII, as a number or as text.
    private static func delimiter(_ value: JSONValue, _ field: String) throws(InvalidInput) -> UInt8 {
        guard !value.isNull else { return UInt8(ascii: ",") }
        guard let number = UInt8(value.flat), number == 9 || 32...126 ~= number, number != UInt8(ascii: "\"") else {
            throw InvalidInput(
                field: field,
                "is '\(value.flat)', it has to be the number of a character of ASCII, such as 44 for a comma")
        }
        return number
    }

    private static func encoding(_ value: JSONValue, _ field: String) throws(InvalidInput) -> Encoding {
        guard !value.isNull else { return .utf8 }
        let name = value.flat.uppercased().filter { $0.isLetter || $0.isNumber }
        switch name {
        case "UTF8", "ASCII", "USASCII": return .utf8
        case "ISO88591", "LATIN1": return .latin1
        default:
            throw InvalidInput(field: field, "is '\(value.flat)', it has to be UTF8 or ISO-8859-1")
        }
    }
}

extension CarmaImport {
    /// Senders wait for FINISHED or ERROR. Source: a public Python client for Symplify; the counts are ours.
    var json: JSONValue {
        let status =
            switch state {
            case .waiting: "WAITING"
            case .running: "RUNNING"
            case .finished: "FINISHED"
            case .failed: "ERROR"
            }
        return .object([
            "id": .integer(key.rawValue), "status": .string(status), "taken": .integer(Int64(taken)),
            "refused": .integer(Int64(refused)), "message": reason.map(JSONValue.string) ?? .null,
        ])
    }
}
