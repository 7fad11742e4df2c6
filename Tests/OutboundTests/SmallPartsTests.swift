import HTTP2Client
import KeyFiles
import NIOHTTP1
import Testing

@testable import Outbound

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("120", Duration.seconds(120)), ("0", .zero), ("99999999", .seconds(43_200)),
        ("99999999999999999999", .seconds(43_200)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)),
        ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("Sun, 06 Nov 1994 08:49:37", nil), ("-1", nil), ("", nil),
        ("1.5", nil),
        ("soon", nil), ("Sun, 06 Nov 1994 08:49:xx GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
        ("Tue, 29 Feb 2028 00:00:00 GMT", .seconds(43_200)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", .seconds(37)), ("Sun, 06-Nov-94 08:49:37 GMT", .seconds(37)),
        ("Sun Nov  6 08:49:37 1994", .seconds(37)), ("Sun Nov 06 08:49:37 1994", .seconds(37)),
        ("  7\t", .seconds(7)), ("Monday, 07-Nov-94 08:48:20 GMT", .seconds(43_200)),
        // Two digits that would be more than 50 years ahead are of the last century.
        ("Sunday, 06-Nov-44 08:49:37 GMT", .seconds(43_200)), ("Sunday, 06-Nov-45 08:49:37 GMT", .zero),
        ("Funday, 06-Nov-94 08:49:37 GMT", nil), ("Sunday, 06-Nov-1994 08:49:37 GMT", nil),
        ("Sun Nov  6 08:49:37 94", nil), ("Sun Nov  6 24:49:37 1994", nil), ("Sun Nov  6 08:49:37 1994 GMT", nil),
        ("Sun, +6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49: GMT", nil), ("7 7", nil),
        (String(repeating: "9", count: 65), nil),
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

@Suite struct SpokenWordsTests {
    @Test(arguments: [
        (#"{"error":{"code":403,"message":"SenderId mismatch","status":"PERMISSION_DENIED"}}"#, "SenderId mismatch"),
        (
            #"{"code":401,"errno":109,"error":"Unauthorized","message":"Invalid\n bearer token"}"#,
            "Invalid bearer token"
        ),
        (#"{"reason":"BadJwtToken"}"#, "BadJwtToken"), (#"{"error":"invalid_grant"}"#, "invalid_grant"),
        (#"{"code":"80300007","msg":"All the tokens are invalid","requestId":"1"}"#, "All the tokens are invalid"),
        (
            "the VAPID credentials do not correspond to the subscription.\n",
            "the VAPID credentials do not correspond to the subscription."
        ),
        ("<!DOCTYPE html><html><head><TITLE>Error 404 (Not Found)!!1</TITLE>", "Error 404 (Not Found)!!1"),
        ("<html><title> </title><h1>Forbidden</h1>", "Forbidden"),
        ("no \u{1B}[31m tricks\u{7}", "no  [31m tricks "),
        ("token fOo0123456789_0123456789:0123456789-0123 is not valid", "token ... is not valid"),
        ("", nil), ("<html>", nil), ("{", nil), ("{}", nil), (#"{"message":7}"#, nil),
    ])
    func `a human sentence in an answer is found and sanitized`(body: String, words: String?) {
        #expect(Outbound.words(in: Array(body.utf8)) == words)
    }

    @Test func `a long sentence is cut`() {
        #expect(Outbound.words(String(repeating: "so ", count: 999))?.utf8.count == 160)
        #expect(Outbound.words(in: Array(repeating: UInt8(ascii: "<"), count: 9_999)) == nil)
    }
}

@Suite struct JSONTextTests {
    @Test func `special JSON characters are escaped`() {
        #expect(JSONText.quoted("a\"\\\u{1}\u{1F}ü") == Array(#""a\"\\\u0001\u001fü""#.utf8))
        #expect(JSONText.array([Array("a".utf8), Array("b".utf8)]) == Array(#"["a","b"]"#.utf8))
        #expect(JSONText.array([[UInt8]]()) == Array("[]".utf8))
    }
}

@Suite struct Base64Tests {
    /// Source: RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors hold both ways`(plain: String, coded: String) {
        #expect(Base64.encode(plain.utf8) == coded)
        #expect(Base64.decode(coded.utf8, isExact: true) == Array(plain.utf8))
    }

    @Test func `both alphabets and padding are read`() {
        #expect(Base64.decode("-_8=".utf8, isExact: true) == [0xFB, 0xFF])
        #expect(Base64.decode("+/8".utf8, isExact: true) == [0xFB, 0xFF])
    }

    @Test(arguments: ["A", "Zh", "Zm9=v", "Z m8", "Zg===", "Zm9v\n"])
    func `invalid Base64 is refused`(text: String) {
        #expect(Base64.decode(text.utf8, isExact: true) == nil)
    }
}

@Suite struct PercentEncodingTests {
    @Test func `all but the unreserved is escaped`() {
        #expect(Outbound.percentEncoded("a/b?c=ü~".utf8) == "a%2Fb%3Fc%3D%C3%BC~")
        #expect(Outbound.percentEncoded("p+q/=".utf8, keeping: "*-._") == "p%2Bq%2F%3D")
    }
}

@Suite struct PostOriginTests {
    @Test(arguments: [
        ("https://Push.Example/x?y", "https://push.example", "/x?y"),
        ("https://push.example:443/x#y", "https://push.example", "/x"),
        ("https://push.example:8443?y", "https://push.example:8443", "?y"), ("http://a:80", "http://a", ""),
        ("HTTP://a:443/", "http://a:443", "/"), ("https://[2606:4700::1111]:99/", "https://[2606:4700::1111]:99", "/"),
        ("https://[::1]/", "https://[::1]", "/"), ("https://a:/b", "https://a", "/b"),
    ])
    func `a URL is an origin and a target`(url: String, origin: String, target: String) throws {
        let (found, rest) = try #require(PostOrigin.split(url))
        #expect(found.text == origin && rest == target)
    }

    @Test(arguments: [
        "", "push.example", "ftp://a/", "https://", "https:///x", "https://:443/", "https://user@a/", "https://a\\@b/",
        "https://a b/", "https://a/\r\nx: y", "https://ü.example/", "https://a:0/", "https://a:65536/", "https://a:x/",
        "https://::1/", "https://[::1/", "https://a:-1/",
    ])
    func `an invalid URL for posting is refused`(url: String) {
        #expect(PostOrigin.split(url) == nil)
    }
}
