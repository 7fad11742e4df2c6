import Testing

@testable import BelfrySimulators

@Suite struct JSONTests {
    @Test(
        arguments: [
            (#"{"a":[1,-2.5e3,true,false,null,"x"]}"#, true), (" [ ] ", true), (#""\u00fc\ud83d\ude00\n""#, true),
            ("0", true), ("-0.1", true),
            ("", false), ("{", false), ("[1,]", false), ("{\"a\":1,}", false), ("01", false), ("1.", false),
            ("+1", false),
            (#""\x""#, false), (#""\ud83d""#, false), ("\"\u{1}\"", false), ("tru", false), ("1 2", false),
            (#"{"a":1,"a":2}"#, false), (Sample(String(repeating: "[", count: 100_000)), false),
        ] as [(Sample, Bool)])
    func `JSON is read as RFC 8259 says`(sample: Sample, isJSON: Bool) {
        #expect((JSON(Array(sample.text.utf8)) != nil) == isJSON)
    }

    @Test func `values are what they stand for`() {
        let json = JSON(Array(#"{"a":{"b":["x","\u00fc\ud83d\ude00\n"]},"n":12}"#.utf8))
        #expect(json?["a"]?["b"]?.strings == ["x", "ü😀\n"])
        #expect(json?["n"]?.integer == 12)
        #expect(JSON([0x22, 0xFF, 0x22]) == nil)
    }

    @Test(arguments: [("3.5s", 3.5), ("0s", 0), ("1.000000001s", 1.000000001)])
    func `durations are seconds with an s`(text: String, seconds: Double) {
        #expect(JSONShape.seconds(text) == seconds)
    }

    @Test(arguments: ["3", "s", "-1s", "1.s", ".5s", "1.0000000001s", "1e3s"])
    func `other texts are no durations`(text: String) {
        #expect(JSONShape.seconds(text) == nil)
    }
}
