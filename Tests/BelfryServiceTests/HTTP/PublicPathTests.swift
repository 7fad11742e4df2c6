import Testing

@testable import BelfryService

@Suite struct PublicPathTests {
    private static let push = PublicPath(of: "https://example.org/push")

    @Test(arguments: [
        ("https://push.example.org", ""), ("https://push.example.org/", ""), ("https://example.org/push", "/push"),
        ("https://example.org/a/b/", "/a/b"), (nil, ""),
    ])
    func `a path is read from the public URL`(url: String?, path: String) {
        #expect(PublicPath(of: url).text == path)
    }

    @Test(arguments: [
        ("/push/dashboard?a=/push/b", "/dashboard?a=/push/b"), ("/dashboard", "/dashboard"), ("/push", "/"),
        ("/push?x", "/?x"), ("/pushes/dashboard", "/pushes/dashboard"), ("/push/push/v1", "/push/v1"),
        ("/pu%73h/v1/version", "/v1/version"),
    ])
    func `the path is taken away once, or was`(asked: String, routed: String) {
        #expect((Self.push.routed(asked) ?? asked) == routed)
    }

    @Test(arguments: [
        ("/v1/regis%74ration", "/v1/registration"), ("/v2/topics/a%2Fb", "/v2/topics/a%2Fb"),
        ("/v2/topics/%2541", "/v2/topics/%2541"),
        ("/v2/topics/%2%35", "/v2/topics/%252%35".replacing("%35", with: "5")),
        ("/v2/topics/100%", "/v2/topics/100%25"), ("/v2/topics/%zz", "/v2/topics/%25zz"),
        ("/v1/push?q=%41", "/v1/push?q=%41"),
        ("/v2/topics/%C3%BC", "/v2/topics/%C3%BC"),
    ])
    func `a needlessly encoded path is decoded once before routing`(asked: String, routed: String) {
        #expect((PublicPath(of: nil).routed(asked) ?? asked) == routed)
    }
}
