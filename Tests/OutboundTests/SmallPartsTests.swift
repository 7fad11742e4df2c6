import NIOHTTP1
import Testing

@testable import Outbound

@Suite struct RetryAfterTests {
    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("-1", nil), ("", nil), ("soon", nil), ("1.5", nil),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
            ("Thu, 32 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
            ("99999999999999999999999", nil),
        ] as [(String, Int?)])
    func `a wait is seconds or a date`(text: String, seconds: Int?) {
        #expect(HTTPHeaders([("Retry-After", text)]).retryAfter(now: 784_111_740) == seconds)
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Fri, 01 Jan 2100 00:00:00 GMT", 4_102_444_800),
        ] as [(String, Int64)])
    func `dates are read by the calendar`(text: String, seconds: Int64) {
        #expect(Outbound.unixSeconds(httpDate: text) == seconds)
    }

    @Test func `a time is written as RFC 3339 has it`() {
        #expect(Outbound.isoTime(951_868_799) == "2000-02-29T23:59:59Z")
    }
}

@Suite struct Base64URLTests {
    /// Source: RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors hold both ways`(plain: String, coded: String) {
        #expect(Base64URL.encode(plain.utf8) == coded)
        #expect(Base64URL.decode(coded.utf8) == Array(plain.utf8))
    }

    @Test func `both alphabets and padding are read`() {
        #expect(Base64URL.decode("-_8=".utf8) == [0xFB, 0xFF])
        #expect(Base64URL.decode("+/8".utf8) == [0xFB, 0xFF])
    }

    @Test(arguments: ["A", "Zh", "Zm9=v", "Z m8", "Zg===", "Zm9v\n"])
    func `what is no Base64 is none`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }
}

@Suite struct PercentEncodingTests {
    @Test func `all but the unreserved is escaped`() {
        #expect(Outbound.percentEncoded("a/b?c=ü~".utf8) == "a%2Fb%3Fc%3D%C3%BC~")
        #expect(Outbound.percentEncoded("p+q/=".utf8, keeping: "*-._") == "p%2Bq%2F%3D")
    }
}

@Suite struct FanOutTests {
    @Test func `results come in the order of the items, however many are under way`() async {
        let results = await Outbound.fanOut(Array(0..<100), width: 7, within: .seconds(60), untried: -1) { item in
            if item.isMultiple(of: 3) { await Task.yield() }
            return item * 2
        }
        #expect(results == (0..<100).map { $0 * 2 })
    }

    @Test func `at the deadline what is under way is cancelled and the rest is untried`() async {
        let results = await Outbound.fanOut([0, 1, 2, 3], width: 2, within: .milliseconds(20), untried: -1) { item in
            if item == 0 { return 100 }
            try? await Task.sleep(for: .seconds(3_600))
            return Task.isCancelled ? 7 : 8
        }
        #expect(results[0] == 100 && results[1] == 7 && results[3] == -1)
        #expect(results[2] == 7 || results[2] == -1)
    }

    @Test func `nothing is asked of no items`() async {
        let results = await Outbound.fanOut([Int](), width: 4, within: .seconds(60), untried: 0) { $0 }
        #expect(results.isEmpty)
    }
}
