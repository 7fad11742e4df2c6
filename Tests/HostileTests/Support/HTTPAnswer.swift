import Foundation

/// An answer as it came, its head read without judging it.
struct HTTPAnswer {
    let status: Int
    /// The headers by names in lower case; of several with one name, the last.
    let headers: [String: String]
    /// The cookies that the answer sets.
    let cookies: [String]
    var body: [UInt8] = []

    init?(head: [UInt8]) {
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
        self.status = status
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        self.headers = headers
        let mark = "set-cookie:"
        cookies = lines.filter { $0.lowercased().hasPrefix(mark) }.map {
            $0.dropFirst(mark.count).trimmingCharacters(in: .whitespaces)
        }
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// A field of the object that the body is.
    subscript(field: String) -> Any? {
        (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])?[field]
    }

    func string(_ field: String) throws -> String {
        guard let string = self[field] as? String else {
            throw BelfryProcess.Failure(description: "there is no \(field) in \(status) \(text.prefix(300))")
        }
        return string
    }
}

/// A request as bytes.
enum HTTPText {
    static func request(
        _ method: String, _ path: String, _ body: String? = nil, as authorization: String? = nil,
        _ headers: [String] = []
    ) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: belfry"] + headers
        if let authorization { lines.append("Authorization: \(authorization)") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }
}
