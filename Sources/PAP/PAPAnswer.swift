public import Outbound

/// The result of one push.
public enum PAPAnswer: Sendable, Hashable {
    /// The gateway's code, in an answer of 200.
    ///
    /// - Parameter description: visible ASCII.
    case result(code: Int, description: String)
    /// An answer without a code, 200 or other.
    ///
    /// - Parameter words: the gateway's sentence for people, in visible ASCII.
    case rejected(status: Int, retryAfter: Duration?, words: String? = nil)
    /// Certainly not sent.
    case unprocessed(OutboundFault)
    /// It may have been sent, and no answer came.
    case unknown(OutboundFault)
}

extension PAPAnswer {
    init(_ answer: OutboundAnswer) {
        switch answer {
        case .response(let response): self.init(response)
        case .unprocessed(let fault): self = .unprocessed(fault)
        case .unknown(let fault): self = .unknown(fault)
        }
    }

    /// Reads an answer of any bytes; only `response-result` and `badmessage-response` count, wherever they are. Source:
    /// WAP-247 PAP §9.2.
    public init(_ response: OutboundResponse) {
        if response.status == 200, let element = PAPElement(in: response.body), let code = element.code {
            self = .result(code: code, description: Outbound.plain((element.attributes["desc"] ?? "").utf8))
        } else {
            self = .rejected(
                status: response.status, retryAfter: response.headers.retryAfter(),
                words: Outbound.words(in: response.body))
        }
    }
}

/// The start tag of the result, and its attributes.
struct PAPElement {
    private(set) var attributes: [String: String] = [:]

    static let names = ["response-result", "badmessage-response"]

    var code: Int? { attributes["code"].flatMap { Int($0) } }

    init?(in bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        for tag in text.split(separator: "<").lazy.map({ $0.prefix { $0 != ">" } }) {
            let name = tag.prefix { !$0.isWhitespace && $0 != "/" }
            guard Self.names.contains(String(name)) else { continue }
            read(tag.dropFirst(name.count))
            return
        }
        return nil
    }

    /// `name="value"` or `name='value'`, one after the other; stops at anything else.
    private mutating func read(_ text: Substring) {
        var rest = text
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].trimmed
            let value = rest[rest.index(after: equals)...].drop { $0.isWhitespace }
            guard let quote = value.first, quote == "\"" || quote == "'",
                let end = value.dropFirst().firstIndex(of: quote)
            else { return }
            attributes[name] = String(value[value.index(after: value.startIndex)..<end])
            rest = value[value.index(after: end)...]
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
