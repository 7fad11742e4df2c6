package import BelfryService

/// Reads `multipart/form-data`. Source: RFC 7578, RFC 2046 §5.1.
extension FormData {
    /// The longest head of a part, longer than browsers write.
    private static let headBytesMax = 2_048

    package init(multipart bytes: [UInt8], boundary: String) throws(InvalidInput) {
        let mark = Array("--\(boundary)".utf8)
        var place = try Self.after(mark, in: bytes, from: 0)
        while !bytes[place...].starts(with: "--".utf8) {
            place = try Self.after(Array("\r\n".utf8), in: bytes, from: place)
            let body = try Self.after(Array("\r\n\r\n".utf8), in: bytes, from: max(0, place - 2))
            guard body - place <= Self.headBytesMax else { throw Self.broken }
            let head = Disposition(String(decoding: bytes[place..<body], as: UTF8.self))
            let next = try Self.after(Array("\r\n".utf8) + mark, in: bytes, from: body)
            let content = bytes[body..<(next - mark.count - 2)]
            if let name = head.name {
                if head.isFile {
                    try add(name, file: content)
                } else {
                    try add(name, String(decoding: content, as: UTF8.self))
                }
            }
            place = next
        }
    }

    private static let broken = InvalidInput(field: "form", "is not in the form that browsers send")

    /// The place after the next occurrence of a mark. Each byte is compared with the mark's first before more of it is.
    private static func after(_ mark: [UInt8], in bytes: [UInt8], from start: Int) throws(InvalidInput) -> Int {
        var place = start
        while place + mark.count <= bytes.count {
            if bytes[place] == mark[0], bytes[place..<(place + mark.count)].elementsEqual(mark) {
                return place + mark.count
            }
            place += 1
        }
        throw broken
    }
}

/// The `Content-Disposition` of a part.
private struct Disposition {
    private(set) var name: String?
    private(set) var isFile = false

    init(_ head: String) {
        for line in head.split(whereSeparator: \.isNewline) {
            guard line.lowercased().hasPrefix("content-disposition:") else { continue }
            for part in line.split(separator: ";").dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
                guard pair.count == 2 else { continue }
                if pair[0].lowercased() == "name" { name = pair[1].unquoted }
                if pair[0].lowercased().hasPrefix("filename") { isFile = true }
            }
        }
    }
}

extension String {
    fileprivate var unquoted: String {
        count > 1 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}

/// The boundary that a content type names.
enum Boundary {
    static func named(in contentType: String) -> String? {
        let parts = contentType.split(separator: ";").map { String($0).trimmed }
        guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
        let named = parts.first { $0.lowercased().hasPrefix("boundary=") }
        guard let text = named.map({ String($0.dropFirst("boundary=".count)).unquoted }) else { return nil }
        // Source: RFC 2046 §5.1.1: 1 to 70 characters.
        return (1...70).contains(text.utf8.count) ? text : nil
    }
}
