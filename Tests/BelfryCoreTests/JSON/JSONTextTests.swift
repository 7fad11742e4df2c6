import BelfryCore
import BelfryTesting
import Testing

/// What is written of a value, for stores and for devices.
@Suite struct JSONTextTests {
    static func stored(_ value: JSONValue) throws -> JSONValue { try JSONValue(json: value.storedText.utf8) }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `any value is read back from a store as it was`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let value = JSONValue.drawn(by: &random, depth: Int(seed % 8))
        #expect(try Self.stored(value) == value)
        #expect(try Self.stored(value).storedText == value.storedText)
    }

    @Test(
        arguments: [
            (.number(1e18), "1e+18"), (.number(1e300), "1e+300"), (.number(-0.0), "-0.0"), (.number(0.1), "0.1"),
            (.number(5), "5.0"), (.number(9_223_372_036_854_775_808), "9.223372036854776e+18"),
            (.number(.leastNonzeroMagnitude), "5e-324"), (.number(.greatestFiniteMagnitude), "1.7976931348623157e+308"),
            (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"), (.integer(0), "0"),
        ] as [(JSONValue, String)])
    func `a number is stored so that it is read back as what it was`(value: JSONValue, text: String) throws {
        #expect(value.storedText == text)
        let read = try Self.stored(value)
        #expect(read == value)
        if case .number(let written) = value, case .number(let found) = read { #expect(written.sign == found.sign) }
    }

    @Test(
        arguments: [
            (.number(5), "5"), (.number(2.5), "2.5"), (.number(1e18), "1e+18"), (.integer(7), "7"),
            (.array([.number(1_000), .number(-3)]), "[1000,-3]"),
        ] as [(JSONValue, String)])
    func `devices get whole numbers without a point`(value: JSONValue, text: String) {
        #expect(String(decoding: value.encoded, as: UTF8.self) == text)
    }

    @Test func `members are in the order of their keys, and strings have the escapes that they need`() {
        let value = JSONValue.object([
            "z": .null, "a": .string("\"\\\u{8}\u{9}\u{A}\u{C}\u{D}\u{1}\u{1F}/ü🎉"), "B": .bool(true), "é": .array([]),
            "aa": .object([:]),
        ])
        #expect(
            value.storedText
                == #"{"B":true,"a":"\"\\\b\t\n\f\r\u0001\u001f/ü🎉","aa":{},"z":null,"é":[]}"#)
    }
}

extension JSONValue {
    /// Any value at all but for U+0000, which no reader of ours takes.
    static func drawn(by random: inout SplitMix64, depth: Int) -> JSONValue {
        switch random.below(depth > 0 ? 8 : 6) {
        case 0: .null
        case 1: .bool(random.chance(0.5))
        case 2: .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 3: .number(drawnNumber(by: &random))
        case 4, 5: .string(drawnText(by: &random))
        case 6: .array((0..<random.below(6)).map { _ in drawn(by: &random, depth: depth - 1) })
        default:
            .object(
                Dictionary(
                    (0..<random.below(6)).map { _ in (drawnText(by: &random), drawn(by: &random, depth: depth - 1)) },
                    uniquingKeysWith: { $1 }))
        }
    }

    private static func drawnNumber(by random: inout SplitMix64) -> Double {
        let bits = Double(bitPattern: random.next())
        return bits.isFinite && random.chance(0.5) ? bits : Double(random.draw(-1_000...1_000)) / 8
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
