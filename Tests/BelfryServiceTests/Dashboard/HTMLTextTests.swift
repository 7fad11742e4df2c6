import Testing

@testable import BelfryService

@Suite struct HTMLTextTests {
    @Test func `HTML characters are escaped as references`() {
        #expect(#"<b title="a" lang='b'>&</b>"#.html == "&lt;b title=&quot;a&quot; lang=&#39;b&#39;&gt;&amp;&lt;/b&gt;")
        #expect("Grüße 👩‍👩‍👧".html == "Grüße 👩‍👩‍👧")
    }

    @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20DD}"])
    func `a mark behind a character hides it from no reader`(mark: String) {
        for (character, reference) in ["<": "&lt;", ">": "&gt;", "&": "&amp;", "\"": "&quot;", "'": "&#39;"] {
            #expect(Array((character + mark).html.utf8) == Array((reference + mark).utf8))
        }
    }
}
