import BelfryCore
import FoundationEssentials
import Testing

@testable import BelfryAPI

/// The grammar at the door, held to `JSONDecoder` where both should agree.
@Suite struct JSONReaderTests {
    static func read(_ bytes: [UInt8]) throws -> JSONValue? {
        var value: JSONValue?
        try JSONReader.document(Array(#"{"v":"#.utf8) + bytes + Array("}".utf8)) { reader, _ throws(InvalidInput) in
            value = try reader.value("v")
        }
        return value
    }

    static func read(_ text: String) throws -> JSONValue? { try read(Array(text.utf8)) }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1", "-17", "9223372036854775807", "-9223372036854775808", "1.5", "-0.25",
        "1e3", "1E-2", "123456789.125e+2", #""""#, #""a""#, #""ü🎉""#, #""\"\\\/\b\f\n\r\t""#,
        #""\u00fc\uD83C\uDF89\u0041""#,
        "[]", "{}", "[1,2,3]", " [ 1 , [ ] , { } ] ", #"{"a":{"b":[true,null]},"c":""}"#, "\t\r\n1 ",
        "18446744073709551615", "123456789012345678901234567890",
    ])
    func `what is JSON is read as JSONDecoder reads it`(text: String) throws {
        let expected = try JSONDecoder().decode([String: JSONValue].self, from: Data("{\"v\":\(text)}".utf8))["v"]
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
        #"{"a":1,}"#, #"{"a":1"#, "]", "}", "1}", "/* c */ 1", "1e400", "\u{FEFF}1",
    ])
    func `what is no JSON is refused with the place`(text: String) throws {
        let error = try #require(throws: InvalidInput.self) { try Self.read(text) }
        #expect(error.field == "body")
        #expect(error.problem.contains("at byte"), "\(error)")
    }

    @Test(
        arguments: [
            [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused, with an escape beside it or without`(bytes: [UInt8]) throws {
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
            #expect(throws: InvalidInput.self) { try PCFv1.PushRequest.parse(Array("{\"x\":\(nested(levels))}".utf8)) }
        }
    }

    @Test func `of a key that stands twice the last one counts`() throws {
        let request = try PCFv1.RegistrationRequest.parse(
            Array(#"{"registration_token":"a","registration_token":"b","tags":["x"],"tags":null}"#.utf8))
        #expect(request.registrationToken == "b")
        #expect(request.tags == nil)
    }

    @Test func `a byte order mark is passed over, and escaped keys are read`() throws {
        let request = try PCFv1.RegistrationRequest.parse(
            [0xEF, 0xBB, 0xBF] + Array(#"{"\u006fs":"ios"}"#.utf8))
        #expect(request.about.os == "ios")
    }

    @Test func `a number of a million digits is refused`() throws {
        #expect(throws: InvalidInput.self) { try Self.read(String(repeating: "9", count: 1_000_000)) }
    }
}

extension JSONValue {
    /// Decoders differ in whether 1e3 is a whole number.
    fileprivate var asNumber: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }
}

/// Both bodies of the API, chewed on by a seeded mouse. A crash here is the failure; what is thrown does not matter.
@Suite struct ParseFuzzTests {
    static let corpus = [
        #"{"tags":["beta","alpha"],"device_alias":"My Phone","os":"android-fcm","registration_token":"t","custom_user_id":""}"#,
        #"{"tags":{"subscribe":["new"],"unsubscribe":["old"]},"registration_token":"\u00fc\ud83c\udf89","x":[1e9,{"y":null}]}"#,
        #"{"message":{"body":"b","custom":{"ios":{"alert":{"body":"x"},"badge":1},"android":{"k":[1,2.5e3,true]}}},"target":{"topics":["a"],"platforms":["ios"],"devices":["u"],"interactive-only":false,"platform":"all"},"scheduleAt":"1345852800000","scheduleIn":0,"expiryTime":null}"#,
    ].map { Array($0.utf8) }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `no bytes crash a parser, and no verdict depends on the parser's mood`(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<2_000 {
            let bytes = Self.mutated(Self.corpus[Int(random.next() % 3)], &random)
            let registration = Result { try PCFv1.RegistrationRequest.parse(bytes) }
            let push = Result { try PCFv1.PushRequest.parse(bytes) }
            if case .failure(let error) = registration { #expect(error is InvalidInput) }
            if case .failure(let error) = push { #expect(error is InvalidInput) }
            // Whatever we take, a second reader has to take too.
            if case .success = registration, !bytes.contains(0x5C) {
                #expect(throws: Never.self, "\(bytes)") {
                    _ = try JSONDecoder().decode([String: JSONValue].self, from: Data(bytes))
                }
            }
        }
    }

    static func mutated(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        var bytes = bytes
        for _ in 0...(random.next() % 4) where !bytes.isEmpty {
            let place = Int(random.next() % UInt64(bytes.count))
            switch random.next() % 6 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(Array(#"{}[]",:\0u-e."#.utf8)[Int(random.next() % 13)], at: place)
            case 3: bytes.removeLast(bytes.count - place)
            case 4: bytes.insert(contentsOf: bytes[place...], at: place)
            default: bytes[place] ^= 1 << UInt8(random.next() % 8)
            }
        }
        return bytes
    }

    struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
            return z ^ z >> 31
        }
    }
}
