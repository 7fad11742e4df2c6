public import HTTP2Client
public import NIOSSL

/// Requests that share most of their headers, to any number of hosts, sent together and answered in the order they were added.
///
/// Each host's part is one batch on its connections, over HTTP/2 or HTTP/1.1.
public struct OutboundBatch: Sendable {
    /// The requests that go to one origin.
    public struct Part: Sendable {
        public let origin: PostOrigin
        public var requests: HTTP2Batch
        /// The place of each request among all.
        package fileprivate(set) var places: [Int]

        func tell(_ answers: [OutboundAnswer], to all: inout [OutboundAnswer]) {
            for (place, answer) in zip(places, answers) { all[place] = answer }
        }
    }

    public struct Shape: Sendable {
        public var method = "POST"
        /// Names in lowercase.
        public var headers: [HTTP2Header]
        /// The names of the headers that each request has a value of its own for.
        public var varying: [String]
        public var body: HTTP2Batch.Body
        /// The headers of answers that are read, in lowercase.
        public var keptHeaders: [String]
        /// How much of an answer's body is read.
        public var answerBytesMax: Int
        /// Instead of what the connections have.
        public var tls: TLSConfiguration?

        public init(
            headers: [HTTP2Header], varying: [String] = [], body: HTTP2Batch.Body,
            keptHeaders: [String] = ["retry-after"], answerBytesMax: Int = 4_096, tls: TLSConfiguration? = nil
        ) {
            self.headers = headers
            self.varying = varying
            self.body = body
            self.keptHeaders = keptHeaders
            self.answerBytesMax = answerBytesMax
            self.tls = tls
        }
    }

    public internal(set) var shape: Shape
    public var parts: [Part] = []
    public private(set) var count = 0
    private var partOfOrigin: [PostOrigin: Int] = [:]
    /// How the URL before began, up to the end of its authority, and its part: most have the same.
    private var last: (prefix: String, part: Int)?

    public init(_ shape: Shape) { self.shape = shape }

    /// Adds a request. One whose URL cannot be used is answered so.
    ///
    /// - Parameters:
    ///   - values: of the varying headers, in their order.
    ///   - body: for ``HTTP2Batch/Body/own``.
    public mutating func append(url: String, values: [String] = [], body: [UInt8] = []) {
        defer { count += 1 }
        guard let (part, target) = place(url), values.allSatisfy(Self.isFieldValue) else { return }
        let hasOwnBody = if case .own = shape.body { true } else { false }
        parts[part].places.append(count)
        parts[part].requests.append { fields in
            if target.first != "/" { fields.write("/") }
            fields.write(target)
            fields.end()
            for value in values {
                fields.write(value)
                fields.end()
            }
            if hasOwnBody {
                fields.write(body)
                fields.end()
            }
        }
    }

    /// Returns a batch with only the requests at `indices`, which ascend; they keep their places.
    package func picking(_ indices: [Int]) -> OutboundBatch {
        let wanted = Set(indices)
        var picked = self
        picked.parts = parts.compactMap { part in
            let kept = part.places.indices.filter { wanted.contains(part.places[$0]) }
            guard !kept.isEmpty else { return nil }
            return Part(
                origin: part.origin, requests: part.requests.picking(kept), places: kept.map { part.places[$0] })
        }
        return picked
    }

    private mutating func place(_ url: String) -> (part: Int, target: Substring)? {
        if let last, url.utf8.starts(with: last.prefix.utf8) {
            let rest = url[url.utf8.index(url.startIndex, offsetBy: last.prefix.utf8.count)...]
            if rest.utf8.first.map(PostOrigin.endsAuthority) ?? true, rest.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
                return (last.part, PostOrigin.target(rest))
            }
        }
        guard let (origin, target) = PostOrigin.split(url) else { return nil }
        let part = partOfOrigin[origin] ?? addPart(origin)
        last = (String(url[..<target.startIndex]), part)
        return (part, target)
    }

    private mutating func addPart(_ origin: PostOrigin) -> Int {
        var requests = HTTP2Batch(
            method: shape.method, headers: shape.headers, varying: shape.varying, body: shape.body)
        requests.keptHeaders = shape.keptHeaders
        requests.answerBytesMax = shape.answerBytesMax
        parts.append(Part(origin: origin, requests: requests, places: []))
        partOfOrigin[origin] = parts.count - 1
        return parts.count - 1
    }

    /// Whether a text may be a header's value, which has no line's end. Source: RFC 9110 §5.5.
    static func isFieldValue(_ value: String) -> Bool { value.utf8.allSatisfy { 0x20...0x7E ~= $0 || $0 >= 0x80 } }
}
