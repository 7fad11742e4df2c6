import Testing

@testable import BelfryService

@Suite struct CSVTextTests {
    @Test(arguments: ["a,b", "a\nb", "a\rb", "a\r\nb", "a\"b"])
    func `a value that would end early is quoted`(text: String) {
        #expect(text.csv == text.csvQuoted)
        #expect(text.csvQuoted.hasPrefix("\"") && text.csvQuoted.hasSuffix("\""))
    }

    @Test func `any other stays as it is`() { #expect("Grüße; 1.5".csv == "Grüße; 1.5") }

    @Test func `a quotation mark is doubled, whatever mark is behind it`() {
        #expect(Array("a\"\u{301}".csv.utf8) == Array("\"a\"\"\u{301}\"".utf8))
    }

    @Test func `a value with U+0000 names its column`() {
        #expect(throws: InvalidInput(field: "column 2", "has the character U+0000, which none may have")) {
            try CSVSplitter.fields(of: Array("a,\0".utf8))
        }
    }

    @Test(arguments: ["=", "+", "-", "@", "\t", "\r"])
    func `a leading formula character is disarmed`(start: String) {
        #expect((start + "1").withoutFormula == "'" + start + "1")
        #expect(Array((start + "\u{301}").withoutFormula.utf8).first == UInt8(ascii: "'"))
        #expect(("1" + start).withoutFormula == "1" + start)
    }
}
