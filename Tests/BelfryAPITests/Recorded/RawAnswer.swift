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
        let body = bytes[end.upperBound...]
        let length = headers["content-length"].flatMap(Int.init)
        guard headers["transfer-encoding"] == nil else { throw Malformed("a chunked answer") }
        guard let length = length ?? (status == 204 ? 0 : nil) else { throw Malformed("no length of the body") }
        guard body.count >= length else { return nil }
        guard body.count == length else { throw Malformed("\(body.count - length) bytes behind the end") }
        guard let text = String(validating: body, as: UTF8.self) else { throw Malformed("a body that is no UTF-8") }
        self.status = status
        self.headers = headers
        self.body = text
    }

    var description: String { "\(status) \(headers) \(body)" }
}
