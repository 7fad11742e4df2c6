/// An HTTP/1.1 answer taken apart by hand, so that nothing in it is forgiven.
struct RawAnswer: CustomStringConvertible {
    let status: Int
    /// By name in lower case; a header that stands twice keeps its first value.
    let headers: [String: String]
    let body: String

    struct Malformed: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// nil while more has to arrive. Throws on what no answer may be, and on bytes behind its end.
    init?(_ bytes: [UInt8]) throws {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let start = lines[0].split(separator: " ", maxSplits: 2)
        guard start.count == 3, start[0] == "HTTP/1.1", let status = Int(start[1]) else {
            throw Malformed("the first line is \(lines[0])")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Malformed("a header without a colon: \(line)") }
            let name = parts[0].lowercased()
            if headers[name] == nil { headers[name] = String(parts[1].drop { $0 == " " }) }
        }
        let rest = bytes[end.upperBound...]
        let isChunked = headers["transfer-encoding"] == "chunked"
        guard let body = try isChunked ? Self.unchunked(rest) : Self.plain(rest, headers["content-length"], status)
        else {
            return nil
        }
        guard let text = String(validating: body, as: UTF8.self) else { throw Malformed("a body that is no UTF-8") }
        self.status = status
        self.headers = headers
        self.body = text
    }

    private static func plain(_ rest: ArraySlice<UInt8>, _ length: String?, _ status: Int) throws -> [UInt8]? {
        guard let length = length.flatMap(Int.init) ?? (status == 204 ? 0 : nil) else {
            throw Malformed("no length of the body")
        }
        guard rest.count >= length else { return nil }
        guard rest.count == length else { throw Malformed("\(rest.count - length) bytes behind the end") }
        return Array(rest)
    }

    private static func unchunked(_ rest: ArraySlice<UInt8>) throws -> [UInt8]? {
        var body: [UInt8] = []
        var rest = rest
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            let digits = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
            guard let length = Int(digits, radix: 16) else { throw Malformed("a chunk of length '\(digits)'") }
            guard rest[end.upperBound...].count >= length + 2 else { return nil }
            let chunk = rest[end.upperBound...].prefix(length)
            rest = rest[(chunk.endIndex + 2)...]
            body += chunk
            guard length == 0 else { continue }
            guard rest.isEmpty else { throw Malformed("\(rest.count) bytes behind the end") }
            return body
        }
        return nil
    }

    var description: String { "\(status) \(headers) \(body)" }
}
