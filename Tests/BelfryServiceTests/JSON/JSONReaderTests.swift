import BelfryService
import FoundationEssentials
import Testing

/// The grammar of what callers send and stores keep, held to `JSONDecoder` where both should agree.
@Suite struct JSONReaderTests {
    static func read(_ bytes: [UInt8]) throws -> JSONValue? {
        var value: JSONValue?
        try JSONReader.document(Array(#"{"v":"#.utf8) + bytes + Array("}".utf8)) { reader, _ throws(InvalidInput) in
            value = try reader.value("v")
        }
        return value
    }

    /// Reads a document, and wants nothing of it.
    static func skip(_ bytes: [UInt8]) throws {
        try JSONReader.document(bytes) { reader, _ throws(InvalidInput) in try reader.skip() }
    }

    static func read(_ text: String) throws -> JSONValue? { try read(Array(text.utf8)) }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1", "-17", "9223372036854775807", "-9223372036854775808", "1.5", "-0.25",
        "1e3", "1E-2", "123456789.125e+2", #""""#, #""a""#, #""ü🎉""#, #""\"\\\/\b\f\n\r\t""#,
        #""\u00fc\uD83C\uDF89\u0041""#,
        "[]", "{}", "[1,2,3]", " [ 1 , [ ] , { } ] ", #"{"a":{"b":[true,null]},"c":""}"#, "\t\r\n1 ",
        "18446744073709551615", "123456789012345678901234567890",
    ])
    func `valid JSON is read as JSONDecoder reads it`(text: String) throws {
        let expected = try JSONDecoder().decode([String: Judge].self, from: Data("{\"v\":\(text)}".utf8))["v"]?.value
        let found = try Self.read(text)
        #expect(found?.asNumber == expected?.asNumber)
        if found?.asNumber == nil { #expect(found == expected) }
    }

    @Test(arguments: [
        "", "nul", "nulll", "True", "+1", "01", "-", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", "--1", "1 2",
        "'a'",
        #"""#, #""a"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud83c""#, #""\ud83cx""#, #""\ud83cA""#, #""\udf89""#,
        #""\u0000""#, "\"\u{1}\"", "\"a\nb\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", #"{"a"}"#, #"{"a":}"#,
        "{a:1}",
        #"{"a":1,}"#, #"{"a":1"#, "]", "}", "1}", "/* c */ 1", "\u{FEFF}1",
    ])
    func `invalid JSON is refused with its place`(text: String) throws {
        let error = try #require(throws: InvalidInput.self) { try Self.read(text) }
        #expect(error.field == "body")
        #expect(error.problem.contains("at byte"), "\(error)")
    }

    @Test(
        arguments: [
            [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused, escaped neighbour or not`(bytes: [UInt8]) throws {
        let quote = UInt8(ascii: "\"")
        for text in [[quote] + bytes + [quote], [quote] + Array(#"\n"#.utf8) + bytes + [quote]] {
            let error = try #require(throws: InvalidInput.self) { try Self.read(text) }
            #expect(error.description.contains("is not valid UTF-8"), "\(error)")
        }
    }

    @Test func `64 levels are read, more are refused without a crash`() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        #expect(try Self.read(nested(63)) != nil)
        for levels in [64, 100_000] {
            let error = try #require(throws: InvalidInput.self) { try Self.read(nested(levels)) }
            #expect(error.description.hasPrefix("body is nested too deep at byte"), "\(error)")
            #expect(throws: InvalidInput.self) { try Self.skip(Array("{\"x\":\(nested(levels))}".utf8)) }
        }
    }

    @Test func `a number too long or too large names its field`() throws {
        let digits = String(repeating: "9", count: 1_000_000)
        for (text, problem) in [
            (digits, "is a number of 1000000 digits, the limit is 128"),
            ("1e400", "is a number beyond 1.8e308, the limit"),
        ] {
            #expect(throws: InvalidInput(field: "v", problem)) { try Self.read(text) }
        }
    }

    @Test func `a value is read only to its limit`() throws {
        func read(_ text: String) throws -> JSONValue {
            var reader = JSONReader(Array(text.utf8))
            return try reader.value("a", bytesMax: 10)
        }
        #expect(try read("   [1,2,3,45] ") == .array([1, 2, 3, 45].map(JSONValue.integer)))
        #expect(throws: InvalidInput(field: "a", "is written in more than 10 bytes, which is the limit")) {
            try read("[1,2,3,456]")
        }
        // What stands behind is not even looked at.
        #expect(throws: InvalidInput(field: "a", "is written in more than 10 bytes, which is the limit")) {
            try read("[{},{},{},{},{},no JSON")
        }
    }

}

extension JSONValue {
    /// Decoders differ in whether 1e3 is a whole number.
    fileprivate var asNumber: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number.double
        default: nil
        }
    }
}

/// Any JSON value as `JSONDecoder` reads it: another implementation, which agrees with ours. It is slow on deep values.
private struct Judge: Decodable {
    let value: JSONValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let string = try? container.decode(String.self) {
            value = .string(string)
        } else if let members = try? container.decode([String: Judge].self) {
            value = .object(JSONObject(members.mapValues(\.value)))
        } else if let elements = try? container.decode([Judge].self) {
            value = .array(elements.map(\.value))
        } else if let bool = try? container.decode(Bool.self) {
            value = .bool(bool)
        } else if let integer = try? container.decode(Int64.self) {
            value = .integer(integer)
        } else {
            value = .number(JSONNumber(try container.decode(Double.self)))
        }
    }
}
