import FoundationEssentials

/// Why the control port refused a request.
struct ControlError: Error {
    var status: Int
    var field: String?
    var message: String

    var answer: ControlAnswer {
        let body = ["error": message].merging(field.map { ["field": $0] } ?? [:]) { first, _ in first }
        return (try? .json(body, status: status)) ?? ControlAnswer(status: status, body: [])
    }
}

extension ControlAnswer {
    static let empty = ControlAnswer(status: 204, body: [])

    static func json(_ value: some Encodable, status: Int = 200) throws -> ControlAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ControlAnswer(status: status, body: Array(try encoder.encode(value)))
    }
}

/// Strict JSON without unknown keys: a misspelt condition would otherwise match every request.
enum StrictJSON {
    static func decode<T: Codable>(_ type: T.Type, from bytes: [UInt8]) throws(ControlError) -> T {
        do {
            let value = try JSONDecoder().decode(type, from: Data(bytes))
            let given = try JSONDecoder().decode(Value.self, from: Data(bytes))
            let understood = try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
            if let unknown = given.firstKey(notIn: understood) {
                throw ControlError(status: 400, field: unknown, message: "is not known")
            }
            return value
        } catch let error as ControlError {
            throw error
        } catch let error as DecodingError {
            throw ControlError(error)
        } catch {
            throw ControlError(status: 400, message: "\(error)")
        }
    }

    /// The keys of a JSON value.
    private indirect enum Value: Decodable {
        case object([String: Value])
        case list([Value])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .other
            } else if let object = try? container.decode([String: Value].self) {
                self = .object(object)
            } else if let list = try? container.decode([Value].self) {
                self = .list(list)
            } else {
                self = .other
            }
        }

        func firstKey(notIn known: Value) -> String? {
            switch (self, known) {
            case (.object(let given), .object(let known)):
                for (key, value) in given.sorted(by: { $0.key < $1.key }) {
                    guard let match = known[key] else { return key }
                    if let inner = value.firstKey(notIn: match) { return "\(key).\(inner)" }
                }
                return nil
            case (.list(let given), .list(let known)):
                for (index, pair) in zip(given, known).enumerated() {
                    if let inner = pair.0.firstKey(notIn: pair.1) { return "\(index).\(inner)" }
                }
                return nil
            default: return nil
            }
        }
    }
}

extension ControlError {
    init(_ error: DecodingError) {
        let (context, missing, problem): (DecodingError.Context, (any CodingKey)?, String) =
            switch error {
            case .keyNotFound(let key, let context): (context, key, "is missing")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (context, nil, "has to be \(Self.word(for: type))")
            case .dataCorrupted(let context): (context, nil, context.debugDescription)
            @unknown default: (.init(codingPath: [], debugDescription: ""), nil, "\(error)")
            }
        let path = (context.codingPath + [missing].compactMap { $0 })
            .map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        self.init(status: 400, field: path.isEmpty ? nil : path, message: problem)
    }

    private static func word(for type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Int.Type, is Int64.Type, is Int32.Type, is UInt32.Type, is UInt64.Type: "a whole number"
        case is Double.Type: "a number"
        case let type where "\(type)".hasPrefix("Array"): "an array"
        default: "an object, such as {\"hang\": {}} for then: docs/Simulators.md"
        }
    }
}
