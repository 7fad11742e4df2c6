import NIOHTTP1
import Testing

@testable import Outbound

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("120", Duration.seconds(120)), ("0", .zero), ("99999999", .seconds(86_400)),
        ("99999999999999999999", .seconds(86_400)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)),
        ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("Sun, 06 Nov 1994 08:49:37", nil), ("-1", nil), ("", nil),
        ("1.5", nil),
        ("soon", nil), ("Sun, 06 Nov 1994 08:49:xx GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
        ("Tue, 29 Feb 2028 00:00:00 GMT", .seconds(86_400)),
    ])
    func `seconds and dates are read, all else is nothing`(text: String, wait: Duration?) {
        // Source: RFC 9110 §5.6.7, 784,111,777 is the date of its example.
        #expect(RetryAfter.duration(text, now: 784_111_740) == wait)
    }

    @Test func `dates after a leap day are right`() {
        #expect(RetryAfter.duration("Wed, 01 Mar 2028 00:00:10 GMT", now: 1_835_481_600) == .seconds(10))
    }

    @Test func `a header is read as its value`() {
        #expect(HTTPHeaders([("Retry-After", "7")]).retryAfter() == .seconds(7))
        #expect(HTTPHeaders().retryAfter() == nil)
    }
}

@Suite struct JSONTextTests {
    @Test func `what JSON has to escape is escaped`() {
        #expect(JSONText.quoted("a\"\\\u{1}\u{1F}ü") == Array(#""a\"\\\u0001\u001fü""#.utf8))
        #expect(JSONText.array([Array("a".utf8), Array("b".utf8)]) == Array(#"["a","b"]"#.utf8))
        #expect(JSONText.array([[UInt8]]()) == Array("[]".utf8))
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

@Suite struct RequestQueueTests {
    @Test func `items of one lane come in their order, as many as there is width`() {
        var queue = RequestQueue(["a", "a", "a"], width: 2)
        #expect([queue.next(), queue.next(), queue.next()] == [0, 1, nil])
        queue.finish(0)
        #expect([queue.next(), queue.next()] == [2, nil])
    }

    @Test func `lanes take turns, and none has more than half of the width while others wait`() {
        var queue = RequestQueue(Array(repeating: "slow", count: 6) + ["a", "b", "a", "b"], width: 4)
        #expect((0..<5).map { _ in queue.next() } == [0, 6, 7, 1, nil])
        queue.finish(6)
        queue.finish(7)
        #expect((0..<3).map { _ in queue.next() } == [8, 9, nil])
        queue.finish(8)
        queue.finish(9)
        // The others are done: what is left may use the whole width.
        #expect((0..<3).map { _ in queue.next() } == [2, 3, nil])
    }

    @Test func `any items in any lanes are each begun once`() {
        for width in 1...5 {
            var queue = RequestQueue((0..<50).map { $0 * $0 % 7 }, width: width)
            var seen: [Int] = []
            while let item = queue.next() {
                seen.append(item)
                queue.finish(item)
            }
            #expect(seen.sorted() == Array(0..<50))
        }
    }
}

@Suite struct ConcurrentPostsTests {
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
