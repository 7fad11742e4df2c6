import FoundationEssentials

extension Admin {
    /// The JSON object of a request. Unknown members are refused.
    package protocol Body {
        static var fields: [String] { get }
        /// Whether a push is made of it: a refusal says that nothing was sent.
        static var sends: Bool { get }
        init()
        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput)
    }
}

extension Admin.Body {
    package static var sends: Bool { false }

    package init(json bytes: [UInt8]) throws(InvalidInput) {
        self.init()
        var body = self
        do throws(InvalidInput) {
            var given = GivenFields()
            try JSONReader.document(bytes) { reader, field throws(InvalidInput) in
                guard try given.note(field, among: Self.fields) else {
                    throw InvalidInput.unknown(field, instead: Self.fields)
                }
                try body.read(field, from: &reader)
            }
        } catch {
            throw Self.sends ? error.withNothingSent : error
        }
        self = body
    }
}

extension Admin.Call {
    /// Reads the request's body.
    // The optimizer of Swift 6.3.1 crashes on some callers that it inlines this into.
    @inline(never)
    func body<Body: Admin.Body>(as type: Body.Type = Body.self) async throws -> Body {
        try Body(json: try await request.bytes(atMost: bodyBytesMax))
    }

    /// Reads the request's body, which may be missing.
    @inline(never)
    func bodyIfAny<Body: Admin.Body>(as type: Body.Type = Body.self) async throws -> Body {
        let bytes = try await request.bytes(atMost: bodyBytesMax)
        return bytes.isEmpty ? Body() : try Body(json: bytes)
    }
}

extension Admin {
    /// The time for which an old secret is accepted beside the new one.
    struct Grace: Body {
        static let fields = ["grace_seconds"]
        private(set) var duration = Duration.zero

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            guard let seconds = try reader.integer(field) else { return }
            let most = AdminKey.graceMax.components.seconds
            guard (0...most).contains(seconds) else {
                throw InvalidInput(field: field, "is \(seconds), it has to be 0 to \(most)")
            }
            duration = .seconds(seconds)
        }
    }
}

extension InvalidInput {
    static func unknown(
        _ field: String, of whole: String = "a field of this request", instead fields: [String]
    ) -> InvalidInput {
        let key = field.split(separator: ".").last.map(String.init) ?? field
        return .unknown(
            "'\(field)'", key, notOf: whole, known: fields, meant: IgnoredFields.meaning(of: key, among: fields))
    }

    static func missing(_ field: String) -> InvalidInput { InvalidInput(field: field, "is missing") }

    /// A time that has to be in the future is not.
    static func over(_ field: String, _ time: Instant, _ now: Instant) -> InvalidInput {
        InvalidInput(field: field, "is \(time.text), which is over (it is \(now.text))")
    }
}

extension Optional {
    /// The value of a required field.
    func given(as field: String) throws(InvalidInput) -> Wrapped {
        guard let self else { throw .missing(field) }
        return self
    }
}

extension JSONReader {
    /// Reads an object with known members only.
    mutating func object(
        _ field: String, of fields: [String], member: (inout JSONReader, String) throws(InvalidInput) -> Void
    ) throws(InvalidInput) {
        var given = GivenFields()
        try object(field) { reader, name throws(InvalidInput) in
            guard try given.note(name, among: fields, under: "\(field).") else {
                throw InvalidInput.unknown("\(field).\(name)", instead: fields)
            }
            try member(&reader, name)
        }
    }

    mutating func uuid(_ field: String) throws(InvalidInput) -> UUID? {
        guard let text = try string(field) else { return nil }
        guard let uuid = UUID(text: text) else { throw InvalidInput(field: field, "is not a UUID") }
        return uuid
    }

    mutating func uuids(_ field: String) throws(InvalidInput) -> [UUID]? {
        try strings(field)?.enumerated().map { (index, text) throws(InvalidInput) in
            guard let uuid = UUID(text: text) else { throw InvalidInput(field: "\(field)[\(index)]", "is not a UUID") }
            return uuid
        }
    }

    /// A time of RFC 3339, which says its zone.
    mutating func instant(_ field: String) throws(InvalidInput) -> Instant? {
        let text: String?
        do throws(InvalidInput) { text = try string(field) } catch {
            throw InvalidInput(
                field: field, error.problem.replacing("a string", with: "a time such as 2026-01-31T08:30:00Z"))
        }
        return try text.map { text throws(InvalidInput) in try Instant(text, field: field) }
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ field: String, as type: Choice.Type = Choice.self
    ) throws(InvalidInput) -> Choice? {
        try string(field).map { (text) throws(InvalidInput) in try Choice(named: text, field: field) }
    }
}

extension RawRepresentable<String> where Self: CaseIterable {
    init(named text: String, field: String) throws(InvalidInput) {
        guard let choice = Self(rawValue: text) else { throw .choice(field, text, of: Self.allCases.map(\.rawValue)) }
        self = choice
    }
}

/// A member of a reply that is null when there is none, and never left out.
@propertyWrapper
package struct OrNull<Value: Codable & Sendable>: Codable, Sendable {
    package var wrappedValue: Value?

    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}
