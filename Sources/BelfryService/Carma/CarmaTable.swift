import FoundationEssentials

/// The contacts of a list: a line of column names, then a line for each contact, its values between delimiters.
///
/// An empty value leaves the stored value. A column that is no field of a contact is a property of that name. Source:
/// help.symplify.com, "API database import" and "Scheduled import".
package struct CarmaTable: Sendable {
    /// A contact, or the reason why the line has none. The line of names is the first.
    package typealias Line = (number: Int, contact: Result<CarmaContactChange, InvalidInput>)

    fileprivate enum Column: Sendable, Hashable {
        case identity
        case token, manufacturer, model, osVersion
        case active
        case text(String)
        case time(String)
        case property(String)
        case none
    }

    package static let columnsMax = 256
    /// The longest line, in bytes.
    package static let lineBytesMax = 65_536

    private let bytes: [UInt8]
    private let settings: CarmaImport.Settings
    private var columns: [Column] = []
    private var position = 0
    private var number = 0

    /// Throws where the first line has no column for the ids of contacts.
    package init(_ bytes: [UInt8], _ settings: CarmaImport.Settings) throws(InvalidInput) {
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        self.settings = settings
        let names = try nextLine().map { line throws(InvalidInput) in try values(of: line) } ?? []
        guard names.count <= Self.columnsMax else {
            throw InvalidInput(
                field: "the first line", "has \(names.count) columns, the limit is \(Self.columnsMax)")
        }
        let identity = settings.identityColumn.lowercased()
        guard names.contains(where: { $0.lowercased() == identity }) else {
            throw InvalidInput(
                field: "the first line",
                "has no column '\(settings.identityColumn)', with delimiter \(settings.delimiter) it has "
                    + (names.isEmpty ? "none" : names.prefix(8).map { "'\($0.prefix(64))'" }.joined(separator: ", ")))
        }
        columns = names.map { $0.lowercased() == identity ? .identity : Column($0) }
    }

    /// The next contact; nil behind the last.
    package mutating func next() -> Line? {
        guard let line = nextLine() else { return nil }
        do throws(InvalidInput) {
            return (number, .success(try contact(try values(of: line))))
        } catch {
            return (number, .failure(error))
        }
    }

    /// The number of line ends, each of which is `\n`, `\r` or both.
    static func lineCount(of bytes: [UInt8]) -> Int {
        var (count, last): (Int, UInt8) = (0, 0)
        for byte in bytes {
            let isPair = last == UInt8(ascii: "\r") && byte == UInt8(ascii: "\n")
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"), !isPair { count += 1 }
            last = byte
        }
        return count
    }

    private mutating func nextLine() -> ArraySlice<UInt8>? {
        while position < bytes.count {
            let rest = bytes[position...]
            let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? bytes.count
            position = end + 1
            if end + 1 < bytes.count, bytes[end] == UInt8(ascii: "\r"), bytes[end + 1] == UInt8(ascii: "\n") {
                position += 1
            }
            number += 1
            if rest.startIndex < end { return bytes[rest.startIndex..<end] }
        }
        return nil
    }

    private func values(of line: ArraySlice<UInt8>) throws(InvalidInput) -> [String] {
        guard line.count <= Self.lineBytesMax else {
            throw InvalidInput(field: "the line", "is \(line.count) bytes, the limit is \(Self.lineBytesMax)")
        }
        var values: [String] = []
        // nil before the first character of a value. Delimiters in an open quotation are text; a doubled mark leaves it open.
        var (start, isQuoted, isOpen): (Int, Bool?, Bool) = (line.startIndex, nil, false)
        for (index, byte) in zip(line.indices, line) {
            if byte == settings.delimiter, !isOpen {
                values.append(try text(of: line[start..<index]).unquoted)
                (start, isQuoted) = (index + 1, nil)
            } else if byte == UInt8(ascii: "\"") {
                isQuoted = isQuoted ?? true
                isOpen = isQuoted == true && !isOpen
            } else if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
                isQuoted = isQuoted ?? false
            }
        }
        guard !isOpen else { throw InvalidInput(field: "the line", "has a quotation mark without its end") }
        return try values + [text(of: line[start...]).unquoted]
    }

    private func text(of bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
        let text: String? =
            switch settings.encoding {
            case .utf8: String(validating: bytes, as: UTF8.self)
            case .latin1: String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            }
        guard let text else { throw InvalidInput(field: "the line", "is no UTF-8") }
        return try text.storable("the line")
    }

    private func contact(_ values: [String]) throws(InvalidInput) -> CarmaContactChange {
        guard values.count <= columns.count else {
            throw InvalidInput(field: "the line", "has \(values.count) values for \(columns.count) columns")
        }
        var change = CarmaContactChange()
        var device = CarmaContactChange.Device()
        for (column, value) in zip(columns, values) where !value.isEmpty {
            switch column {
            case .identity: change.originalID = value
            case .token: device.token = value
            case .manufacturer: device.about.manufacturer = value
            case .model: device.about.model = value
            case .osVersion: device.about.osVersion = value
            case .active: change.attributes["active"] = .flag(["1", "true", "yes"].contains(value.lowercased()))
            case .text(let name): change.attributes[name] = .text(value)
            case .time(let name):
                change.attributes[name] = .some(try Instant.carma(value, field: name).map(UserAttribute.time))
            case .property(let name): change.attributes[CarmaAttribute.property + name] = .text(value)
            case .none: continue
            }
        }
        guard change.originalID != nil else { throw InvalidInput(field: settings.identityColumn, "is missing") }
        if device.token != nil { change.devices = [device] }
        return change
    }
}

extension CarmaTable.Column {
    fileprivate init(_ name: String) {
        let lowercased = name.lowercased()
        func known(_ names: [String]) -> String? { names.first { $0.lowercased() == lowercased } }
        self =
            switch lowercased {
            case "": .none
            case "devicetoken": .token
            case "manufacturer": .manufacturer
            case "model": .model
            case "osversion": .osVersion
            case "active": .active
            default:
                known(CarmaAttribute.texts).map { .text($0) } ?? known(CarmaAttribute.times).map { .time($0) }
                    ?? .property(name)
            }
    }
}

extension String {
    /// The value without blanks around it, and without the quotation marks that spreadsheets put around values.
    fileprivate var unquoted: String {
        let text = asName
        guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return text }
        return String(text.dropFirst().dropLast()).replacing("\"\"", with: "\"")
    }
}
