import BelfryService
import Foundation
import Testing

@Suite struct ControlCharactersTests {
    @Test func `a text that moves no cursor stays as it is`() {
        for text in ["", "Grüße \\n \"x\" 日本 🎉", "👩‍👧 नमस्ते می‌خواهم"] { #expect(text.withoutControls() == text) }
    }

    @Test(arguments: [
        ("\u{1B}[2J", "\\u001b[2J"), ("\u{1B}]0;title\u{7}", "\\u001b]0;title\\u0007"), ("\u{9B}31m", "\\u009b31m"),
        ("a\u{202E}b", "a\\u202eb"), ("\u{2066}x\u{2069}", "\\u2066x\\u2069"), ("\u{200F}\u{61C}", "\\u200f\\u061c"),
        ("a\r\nb\tc\u{7F}", "a\\r\\nb\\tc\\u007f"), ("\u{2028}\u{2029}\u{85}\u{FEFF}", "\\u2028\\u2029\\u0085\\ufeff"),
    ])
    func `control and direction characters are spelt out`(text: String, spelt: String) {
        #expect(text.withoutControls() == spelt)
        #expect("ä\(text)".withoutControls() == "ä" + spelt)
    }

    @Test func `lines stay where they are meant`() {
        #expect("a\nb\u{1B}".withoutControls(keepsLines: true) == "a\nb\\u001b")
        #expect("a\r\nb".withoutControls(keepsLines: true) == "a\\r\nb")
    }

    @Test func `in a string of JSON it means the same`() throws {
        let alias = "\u{1B}]8;;x\u{7}\u{9B}1m\u{202E}\u{2028}\u{FEFF}"
        let encoded = String(decoding: try JSONEncoder().encode([alias]), as: UTF8.self)
        #expect(try JSONDecoder().decode([String].self, from: Data(encoded.withoutControls().utf8)) == [alias])
    }

    @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＠x", "＋1", "－1"])
    func `no cell of a table is a formula`(text: String) {
        #expect(text.withoutFormula == "'" + text)
    }
}
