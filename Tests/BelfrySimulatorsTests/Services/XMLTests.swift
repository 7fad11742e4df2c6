import Testing

@testable import BelfrySimulators

@Suite struct XMLTests {
    @Test func `elements, attributes, text and entities are read`() throws {
        let root = try #require(
            XML(
                "<?xml version=\"1.0\"?><!-- c --><a x='1 &lt; 2'><b/>t&amp;&#252;&#xFC;<![CDATA[<&]]><b y=\"z\">u</b></a>\n"
            ))
        #expect(root.name == "a")
        #expect(root.attributes == ["x": "1 < 2"])
        #expect(root.text == "t&üü<&")
        #expect(root.children.map(\.name) == ["b", "b"])
        #expect(root.children.last?.text == "u")
        let marked = "\u{301}b\u{200D}"
        #expect(XML("<a x='\(marked)'>\(marked)<b/></a>")?.text == marked)
    }

    @Test(arguments: [
        "", "text", "<a>", "<a></b>", "<a><b></a></b>", "<a x=1/>", "<a x='1' x='2'/>", "<a x='<'/>", "<a>&nbsp;</a>",
        "<a>&</a>", "<a/><b/>", "<a", "<a x='1'y='2'/>", "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
    ])
    func `malformed XML is refused`(text: String) {
        #expect(XML(text) == nil)
    }
}
