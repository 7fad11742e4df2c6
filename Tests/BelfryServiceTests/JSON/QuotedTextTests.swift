import BelfryService
import Testing

@Suite struct QuotedTextTests {
    @Test(arguments: [
        ("https://example.org/a", "https://example.org/a"), ("10.0.0.0/8", "10.0.0.0/8"),
        ("2001:db8::1", "2001:db8::1"),
        ("http://[::1]:80", "http://[::1]:80"), ("https://example.org:8443/x", "https://example.org:8443/x"),
        ("http://user:secret@host:3128", "http://…@host:3128"), ("user:secret@host", "…@host"),
        ("http://user:se@cr/e#t?:@host", "http://…@host"), ("http://user:secret", "http://…"),
        ("http://user:se/cret", "http://…"), ("https://host/x?key=secret", "https://host/x?…"),
        ("a\nb\u{1B}[2J", "a\\nb\\u001b[2J"),
    ])
    func `no secret is quoted`(text: String, quoted: String) { #expect(text.quotable == quoted) }

    @Test func `a long text is cut`() {
        #expect(String(repeating: "a", count: 1_000).quotable == String(repeating: "a", count: 200) + "…")
    }
}
