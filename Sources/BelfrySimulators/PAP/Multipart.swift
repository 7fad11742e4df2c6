import FoundationEssentials

/// A `multipart/related` body split into its parts. Source: RFC 2046 §5.1.
struct Multipart {
    struct Part {
        /// Names in lower case.
        var fields: [String: String]
        var body: [UInt8]
    }

    let parts: [Part]

    /// nil when the content type names no boundary or the body is not closed by it.
    init?(contentType: String, body: [UInt8]) {
        guard contentType.lowercased().hasPrefix("multipart/related"), let boundary = Self.boundary(in: contentType)
        else { return nil }
        let delimiter = Data("\r\n--\(boundary)".utf8)
        // The first delimiter may be at the very beginning.
        var rest = Data("\r\n".utf8 + body)[...]
        var parts: [Part] = []
        guard let first = rest.firstRange(of: delimiter) else { return nil }
        rest = rest[first.upperBound...]
        while !rest.starts(with: "--".utf8) {
            guard let end = rest.firstRange(of: delimiter), let part = Self.part(Array(rest[..<end.lowerBound])) else {
                return nil
            }
            parts.append(part)
            rest = rest[end.upperBound...]
        }
        self.parts = parts
    }

    private static func boundary(in contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let sides = parameter.split(separator: "=", maxSplits: 1)
            guard sides.count == 2, Words.trim(sides[0]).lowercased() == "boundary" else { continue }
            return Words.trim(sides[1]).filter { $0 != "\"" }
        }
        return nil
    }

    private static func part(_ bytes: [UInt8]) -> Part? {
        let data = Data(bytes)
        guard let gap = data.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
        var fields: [String: String] = [:]
        for line in String(decoding: data[..<gap.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            let sides = line.split(separator: ":", maxSplits: 1)
            guard sides.count == 2 else { return nil }
            fields[Words.trim(sides[0]).lowercased()] = Words.trim(sides[1])
        }
        return Part(fields: fields, body: Array(data[gap.upperBound...]))
    }
}
