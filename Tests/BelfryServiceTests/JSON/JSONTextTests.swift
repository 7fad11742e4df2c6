import BelfryService
import BelfryTesting
import Testing

/// The text of a value, for stores and for devices.
@Suite struct JSONTextTests {
    static func stored(_ value: JSONValue) throws -> JSONValue { try JSONValue(json: value.storedText.utf8) }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `any stored value is read back unchanged`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let value = JSONValue.drawn(by: &random, depth: Int(seed % 8))
        #expect(try Self.stored(value) == value)
        #expect(try Self.stored(value).storedText == value.storedText)
    }

    @Test(
        arguments: [
            (.number(1e18), "1e+18"), (.number(1e300), "1e+300"), (.number(-0.0), "-0"), (.number(0.1), "0.1"),
            (.number(9_223_372_036_854_775_808.0), "9.223372036854776e+18"),
            (.number(JSONNumber(.leastNonzeroMagnitude)), "5e-324"),
            (.number(JSONNumber(.greatestFiniteMagnitude)), "1.7976931348623157e+308"),
            (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"), (.integer(0), "0"),
        ] as [(JSONValue, String)])
    func `a stored number reads back as the same number`(value: JSONValue, text: String) throws {
        #expect(value.storedText == text)
        let read = try Self.stored(value)
        #expect(read == value)
    }

    @Test(
        arguments: [
            (.number(5.0), "5"), (.number(2.5), "2.5"), (.number(1e18), "1e+18"), (.integer(7), "7"),
            (.array([.number(1_000.0), .number(-3.0)]), "[1000,-3]"),
        ] as [(JSONValue, String)])
    func `devices get whole numbers without a point`(value: JSONValue, text: String) {
        #expect(String(decoding: value.encoded, as: UTF8.self) == text)
    }

    @Test func `members keep their order and strings their needed escapes`() throws {
        let text = #"{"z":null,"a":"\"\\\b\t\n\f\r\u0001\u001f/ü🎉","B":true,"é":[],"aa":{}}"#
        #expect(try JSONValue(json: text.utf8).storedText == text)
        let escaped = #"{ "z" : "\u00fc\/\ud83c\udf89" }"#
        #expect(try JSONValue(json: escaped.utf8).storedText == #"{"z":"ü/🎉"}"#)
    }

    @Test func `the program's own members stand in key order`() throws {
        var object: JSONObject = ["z": .null, "B": .bool(true), "aa": .object([:])]
        object["b"] = .integer(1)
        #expect(JSONValue.object(object).storedText == #"{"B":true,"aa":{},"b":1,"z":null}"#)
        guard case .object(var written) = try JSONValue(json: #"{"z":1,"a":2}"#.utf8) else { return }
        written["k"] = .integer(3)
        written["z"] = .integer(4)
        #expect(JSONValue.object(written).storedText == #"{"k":3,"z":4,"a":2}"#)
    }

    @Test(arguments: [2, 40])
    func `duplicate keys keep the last value at first position`(count: Int) throws {
        let others = (0..<count).map { #""k\#($0)":0"# }.joined(separator: ",")
        let object = try JSONValue(json: #"{"a":1,\#(others),"a":2}"#.utf8)
        #expect(object.storedText == #"{"a":2,\#(others)}"#)
    }
}

extension JSONValue {
    /// Any value at all but for U+0000, which no reader of ours takes.
    static func drawn(by random: inout SplitMix64, depth: Int) -> JSONValue {
        switch random.below(depth > 0 ? 8 : 6) {
        case 0: .null
        case 1: .bool(random.chance(0.5))
        case 2: .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 3: drawnNumber(by: &random)
        case 4, 5: .string(drawnText(by: &random))
        case 6: .array((0..<random.below(6)).map { _ in drawn(by: &random, depth: depth - 1) })
        default:
            .object(
                JSONObject(
                    (0..<random.below(6)).map { _ in (drawnText(by: &random), drawn(by: &random, depth: depth - 1)) }))
        }
    }

    /// A whole number is none of those that a double makes.
    private static func drawnNumber(by random: inout SplitMix64) -> JSONValue {
        let bits = Double(bitPattern: random.next())
        let number = bits.isFinite && random.chance(0.5) ? bits : Double(random.draw(-1_000...1_000)) / 8
        return Int64(exactly: number).map(JSONValue.integer) ?? .number(JSONNumber(number))
    }

    private static func drawnText(by random: inout SplitMix64) -> String {
        let scalars = (0..<random.below(12)).compactMap { _ in
            Unicode.Scalar(UInt32(1 + random.below(random.pick([0x1F, 0x7E, 0x2FF, 0x10_FFFE]))))
        }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        return text
    }
}
