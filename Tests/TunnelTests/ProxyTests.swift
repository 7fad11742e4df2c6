import Testing

@testable import Tunnel

@Suite struct ProxyTests {
    @Test(arguments: [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("HTTP://proxy.example:3128/", "http://proxy.example:3128"),
        ("socks5://10.1.2.3:1080", "socks5://10.1.2.3:1080"),
        ("socks5h://proxy:1", "socks5://proxy:1"),
        ("socks5://[2001:db8::1]:65535", "socks5://[2001:db8::1]:65535"),
        ("http://user:secret@proxy:3128", "http://proxy:3128"),
    ])
    func `a URL names a proxy`(url: String, description: String) throws {
        let proxy = try Proxy(url: url)
        #expect("\(proxy)" == description)
    }

    @Test(
        arguments: [
            ("http://user:secret@proxy:1", nil, "user", "secret"),
            ("http://user@proxy:1", nil, "user", ""),
            ("socks5://user@proxy:1", "from a file", "user", "from a file"),
            ("socks5://u%40s%3Aer:a%2Fb%25@proxy:1", nil, "u@s:er", "a/b%"),
            ("socks5://us@er:p@ss:word@proxy:1", nil, "us@er", "p@ss:word"),
            ("http://user:gr%C3%BC%C3%9Fe@proxy:1", nil, "user", "grüße"),
        ] as [(String, String?, String, String)])
    func `user and password are read together or apart`(
        url: String, file: String?, user: String, password: String
    ) throws {
        let proxy = try Proxy(url: url, password: file)
        #expect(proxy.login?.user == user)
        #expect(proxy.login?.password == password)
    }

    @Test(arguments: [
        "", "proxy:3128", "https://proxy:3128", "socks4://proxy:1080", "http://proxy", "http://proxy:", "http://:3128",
        "http://proxy:0", "http://proxy:65536", "http://proxy:+80", "http://proxy:80a", "http://proxy:80/path",
        "http://proxy:80?x", "http://2001:db8::1:80", "http://[2001:db8::1]", "http://[::1:80", "http://pro xy:80",
        "http://us%4:x@proxy:80", "http://us%zz@proxy:80", "http://%FF@proxy:80", "http://@proxy:80",
        "http://a%3Ab:x@proxy:80", "http://a:%0D%0Ax@proxy:80", "socks5://user@proxy:80", "socks5://:x@proxy:80",
        "socks5://\(String(repeating: "u", count: 256)):x@proxy:80",
        "socks5://u:\(String(repeating: "x", count: 256))@proxy:80",
        "http://\(String(repeating: "h", count: 256)):80",
    ])
    func `an invalid proxy is refused without repeating its password`(url: String) {
        #expect(throws: ProxyFault.self) { try Proxy(url: url) }
        #expect(throws: ProxyFault.self) { try Proxy(url: "\(url)#geheim") }
        do {
            _ = try Proxy(url: url)
        } catch {
            #expect(!error.description.contains("%") || error.description.contains("%2"))
        }
    }

    @Test func `a password is given once, with a user`() {
        #expect(throws: ProxyFault.self) { try Proxy(url: "http://user:one@proxy:1", password: "two") }
        #expect(throws: ProxyFault.self) { try Proxy(url: "http://proxy:1", password: "two") }
    }

    @Test func `neither user nor password is printed, however one prints`() throws {
        let proxy = try Proxy(url: "http://anna:geheim@proxy:3128")
        var dumped = ""
        dump(proxy, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), dumped, "\(proxy.login as Any)"] {
            #expect(!text.contains("anna") && !text.contains("geheim"), "\(text)")
        }
    }
}
