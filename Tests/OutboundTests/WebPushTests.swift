import Crypto
import Foundation
import HTTP2Client
import KeyFiles
import NIOHTTP1
import Outbound
import Testing

@testable import MessageEncryption
@testable import WebPush

private func bytes(_ text: String) -> [UInt8] { Base64.decode(text.utf8, isExact: true) ?? [] }

@Suite struct MessageCipherTests {
    /// Source: RFC 8291 Appendix A.
    @Test func `the example of RFC 8291 comes out byte for byte`() throws {
        let keys = try DeviceKeys(
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            auth: "BTBZMqHH6r4Tts7J_aSIgg")
        let ephemeral = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let cipher = MessageCipher(
            publicKey: keys.publicKey, secret: keys.secret, ephemeral: ephemeral, salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"))
        let body = try cipher.seal(Array("When I grow up, I want to be a watermelon".utf8))
        #expect(
            Base64.encode(body)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
    }

    /// Source: RFC 8188 §3.1.
    @Test func `RFC 8188's first example is reproduced byte for byte`() throws {
        let salt = bytes("I1BsxtFttlv3u_Oo94xnmw")
        let coding = ContentCoding(secret: bytes("yqdlZ-tYemfogSmv7Ws5PQ"), salt: salt)
        var body: [UInt8] = []
        coding.writeHeader(recordBytes: 4_096, keyID: [], to: &body)
        try coding.writeRecord("I am the walrus".utf8, to: &body)
        #expect(Base64.encode(body) == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
    }

    /// Two records, the first with one byte of padding. Source: RFC 8188 §3.2.
    @Test func `RFC 8188's second example is reproduced byte for byte`() throws {
        let salt = bytes("uNCkWiNYzKTnBN9ji3-qWA")
        let coding = ContentCoding(secret: bytes("BO3ZVPxUlnLORbVGMpbT1Q"), salt: salt)
        var body: [UInt8] = []
        coding.writeHeader(recordBytes: 25, keyID: Array("a1".utf8), to: &body)
        try coding.writeRecord("I am th".utf8, padding: 1, isLast: false, to: &body)
        try coding.writeRecord("e walrus".utf8, sequence: 1, to: &body)
        #expect(
            Base64.encode(body)
                == "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA")
    }

    @Test func `the largest payload fills 4,096 bytes; no bodies are equal`() throws {
        let subscription = try WebPushSubscription.sample()
        let message = try WebPushMessage(payload: [UInt8](repeating: 7, count: 3_993), ttl: 60)
        let (first, second) = (try message.body(for: subscription), try message.body(for: subscription))
        #expect(first.count == 4_096)
        #expect(first != second)
        #expect(throws: WebPushError.self) { try WebPushMessage(payload: [UInt8](repeating: 7, count: 3_994), ttl: 60) }
    }

    @Test func `a key off the curve is found before sending`() throws {
        let key = Base64.encode([4] + [UInt8](repeating: 1, count: 64))
        let subscription = try WebPushSubscription(
            endpoint: "https://a.example/x", p256dh: key, auth: "BTBZMqHH6r4Tts7J_aSIgg")
        let message = try WebPushMessage(payload: [1], ttl: 0)
        #expect(throws: WebPushError.self) { try message.body(for: subscription) }
    }
}

extension WebPushSubscription {
    static func sample(_ endpoint: String = "https://push.example.net/a") throws -> WebPushSubscription {
        try WebPushSubscription(
            endpoint: endpoint,
            p256dh: Base64.encode(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
            auth: Base64.encode([UInt8](repeating: 3, count: 16)))
    }
}

@Suite struct WebPushSubscriptionTests {
    @Test(arguments: [
        ("https://updates.push.services.mozilla.com/wpush/v2/x", "https://updates.push.services.mozilla.com"),
        ("https://Push.Example:443/x", "https://push.example"),
        ("https://push.example:8443/x?y", "https://push.example:8443"),
        ("https://push.example?x", "https://push.example"), ("HTTPS://push.example/", "https://push.example"),
    ])
    func `an endpoint has an origin`(endpoint: String, origin: String) throws {
        #expect(try WebPushSubscription.sample(endpoint).origin == origin)
    }

    @Test(arguments: [
        "http://push.example/x", "https://", "https:///x", "https://user@push.example/x", "https://push.example/ x",
        "https://push.example\\@evil.example/", "ftp://x", "", "https://:443/",
    ])
    func `an endpoint that is none is refused`(endpoint: String) {
        #expect(throws: WebPushError.self) { try WebPushSubscription.sample(endpoint) }
    }

    @Test func `a browser's subscription is read despite extra fields`() throws {
        let sample = try WebPushSubscription.sample()
        let (key, auth) = (Base64.encode(sample.publicKey), Base64.encode(sample.authSecret))
        let json =
            #"{"endpoint":"https://push.example.net/a","expirationTime":null,"keys":{"p256dh":"\#(key)","auth":"\#(auth)=="}}"#
        #expect(try WebPushSubscription(json: Array(json.utf8)) == sample)
    }

    @Test(arguments: [
        #"{"endpoint":"E","expirationTime":null,"keys":{"p256dh":"P","auth":"A"}}"#,
        #"{ "keys" : { "auth" : "A" , "p256dh" : "P" , "x" : 1.5 } , "y" : "z", "endpoint" : "E" }"#,
    ])
    func `the usual is found in one pass, in any order`(json: String) throws {
        let found = try #require(SubscriptionScanner(Array(json.utf8)))
        #expect(found.endpoint.elementsEqual("E".utf8))
        #expect(found.p256dh.elementsEqual("P".utf8) && found.auth.elementsEqual("A".utf8))
    }

    @Test(arguments: [
        "", "{", "{}", #"{"endpoint":"E"}"#, #"{"endpoint":"E\u0041","keys":{"p256dh":"P","auth":"A"}}"#,
        #"{"endpoint":"E","endpoint":"F","keys":{"p256dh":"P","auth":"A"}}"#,
        #"{"endpoint":"E","keys":{"p256dh":"P","auth":"A"}}x"#, #"{"endpoint":"E","keys":{"p256dh":"P","auth":"A"}"#,
        #"{"endpoint":"E","x":[1],"keys":{"p256dh":"P","auth":"A"}}"#, #"{"endpoint":"E","keys":{"p256dh":"P"}}"#,
    ])
    func `the unusual is left to a parser`(json: String) {
        #expect(SubscriptionScanner(Array(json.utf8)) == nil)
    }

    @Test(arguments: ["", "{}", "[]", #"{"endpoint":"https://a.example/x","keys":{"p256dh":"AA","auth":"AA"}}"#])
    func `an invalid subscription is refused`(json: String) {
        #expect(throws: WebPushError.self) { try WebPushSubscription(json: Array(json.utf8)) }
    }
}

@Suite struct VAPIDTests {
    private static func verifies(_ token: String, by publicKey: [UInt8]) throws -> Bool {
        let parts = token.split(separator: ".").map(String.init)
        let key = try P256.Signing.PublicKey(x963Representation: publicKey)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes(parts[2]))
        return key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
    }

    /// Signatures are drawn, so what is signed is compared, and the RFC's signature and ours are verified by one means.
    /// Source: RFC 8292 §2.4.
    @Test func `the example of RFC 8292 is what we sign`() throws {
        let head = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9"
        let claims =
            "eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUu"
            + "Y29tIn0"
        let signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let isVerified = try Self.verifies("\(head).\(claims).\(signature)", by: bytes(key))
        #expect(isVerified)
        let own = VAPIDKey()
        let token = try own.token(
            audience: "https://push.example.net", subject: "mailto:push@example.com", expiresAt: 1_453_523_768)
        #expect(token.hasPrefix("\(head).\(claims)."))
        let isOwnVerified = try Self.verifies(token, by: bytes(own.publicText))
        #expect(isOwnVerified)
    }

    /// Source: RFC 7515 Appendix A.3.
    @Test func `RFC 7515's ES256 example verifies by our key`() throws {
        let key = try VAPIDKey("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")
        let point =
            [4] + bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
            + bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
        #expect(bytes(key.publicText) == point)
        let signed =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
            + "Ijp0cnVlfQ"
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        #expect(key.verifies(bytes(signature), of: signed))
        #expect(!key.verifies(bytes(signature), of: "\(signed)A"))
    }

    @Test func `a token names audience, expiry and subject, and verifies`() throws {
        let key = VAPIDKey()
        let header = try VAPID(key: key, subject: "mailto:ops@example.com")
            .header(for: "https://push.example", now: 1_750_000_000)
        let parts = header.split { " =,.".contains($0) }.map(String.init)
        try #require(parts.count == 7 && parts[0] == "vapid" && parts[1] == "t" && parts[5] == "k")
        #expect(String(decoding: bytes(parts[2]), as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
        #expect(
            String(decoding: bytes(parts[3]), as: UTF8.self)
                == #"{"aud":"https://push.example","exp":1750043200,"sub":"mailto:ops@example.com"}"#)
        #expect(parts[6] == key.publicText)
        #expect(key.verifies(bytes(parts[4]), of: "\(parts[2]).\(parts[3])"))
        #expect(bytes(key.publicText).count == 65)
    }

    @Test func `one token serves an origin for a clock hour`() throws {
        let vapid = try VAPID(key: VAPIDKey(), subject: nil)
        let first = try vapid.header(for: "https://a.example", now: 7_200)
        let later = try vapid.header(for: "https://a.example", now: 10_799)
        let other = try vapid.header(for: "https://b.example", now: 7_200)
        let renewed = try vapid.header(for: "https://a.example", now: 10_800)
        let setBack = try vapid.header(for: "https://a.example", now: 10)
        #expect(first == later)
        #expect(Set([first, other, renewed, setBack]).count == 4)
    }

    @Test func `a refused token is forgotten once`() throws {
        let vapid = try VAPID(key: VAPIDKey(), subject: nil)
        let first = try vapid.header(for: "https://a.example", now: 1_000)
        vapid.forget(first, for: "https://a.example")
        let second = try vapid.header(for: "https://a.example", now: 1_000)
        vapid.forget(first, for: "https://a.example")
        #expect(try vapid.header(for: "https://a.example", now: 1_000) == second)
        #expect(first != second)
    }

    @Test(arguments: [
        "ops@example.com", "mailto:", "mailto:a b@c.d", "mailto:<a@b.c>", "mailto:a@localhost", "http://a.example",
    ])
    func `a subject that push services refuse is refused`(subject: String) {
        #expect(throws: WebPushError.self) { try VAPID(key: VAPIDKey(), subject: subject) }
    }

    /// Apple answers 403 `BadJwtToken` for these.
    @Test(arguments: [
        "mailto:a@host.local", "mailto:a@x.invalid", "https://x.test/", "mailto:a@localhost", "https://localhost:8080",
        "https://127.0.0.1", "mailto:a@[::1]", "https://[2001:db8::1]/x", "mailto:a@10.0.0.1", "https://intranet",
        "http://example.com", "tel:+123", "ops@example.com", "mailto:a", "mailto:@example.com", "mailto:a@example..com",
        "MAILTO:a@HOST.LOCAL", "mailto:a@sub.localhost", "https://user@box.local/x", "mailto:a@x.LOCAL.",
        "mailto:a@b.123",
    ])
    func `a subject that is nobody's contact is a certain fault`(subject: String) {
        #expect(VAPIDSubjectFault.of(subject)?.isCertain == true, "\(subject)")
    }

    @Test(arguments: [
        nil, "", "mailto:a@b.example", "https://push.internal", "mailto:a@nas.lan", "mailto:a@b.org,c@d.org",
        "mailto:a@b@c.org", "mailto:a@-foo.org", "mailto:a@foo-.org", "https://user:word@foo.org/",
        "MAILTO:a@b.example",
    ])
    func `a subject that services may refuse is a doubtful one`(subject: String?) {
        #expect(VAPIDSubjectFault.of(subject)?.isCertain == false, "\(subject ?? "none")")
    }

    @Test(arguments: [
        "mailto:ops@example.com", "https://example.org/contact?x=1#y", "mailto:a@b.co.uk?subject=x",
        "https://xn--bcher-kva.ch",
        "https://example.com:8443/", "mailto:a@EXAMPLE.COM", "https://host.tailnet.ts.net",
    ])
    func `a public contact has no fault`(subject: String) {
        #expect(VAPIDSubjectFault.of(subject) == nil, "\(subject)")
    }

    @Test func `a scheme in capital letters is understood`() throws {
        #expect(VAPIDSubjectFault.normalized("MAILTO:Ops@Foo.org") == "mailto:Ops@Foo.org")
        #expect(VAPIDSubjectFault.normalized("HTTPS://foo.org") == "https://foo.org")
        #expect(VAPIDSubjectFault.of("HTTPS://foo.org") == nil)
        #expect(VAPIDSubjectFault.of("mailto:a@b\u{FC}cher.ch")?.reason.contains("xn--") == true)
    }

    @Test func `a key survives its text`() throws {
        let key = VAPIDKey()
        #expect(try VAPIDKey(" \(key.privateText)\n").publicText == key.publicText)
        #expect(throws: WebPushError.self) { try VAPIDKey("AAAA") }
    }
}

@Suite struct WebPushMessageTests {
    private func headers(_ message: WebPushMessage, endpoint: String) throws -> [String: String] {
        let requests = try WebPushRequests(
            message, to: [.sample(endpoint)], tls: nil, signedBy: VAPID(key: VAPIDKey(), subject: nil), now: 0)
        return Dictionary(
            uniqueKeysWithValues: try #require(requests.batch.parts.first).requests.headers.map {
                (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
            })
    }

    @Test func `headers follow RFC 8030, with Microsoft's own for theirs`() throws {
        let message = try WebPushMessage(payload: [], ttl: 0, urgency: .high, topic: "news")
        let plain = try headers(message, endpoint: "https://push.example.net/a")
        #expect(plain["ttl"] == "0" && plain["urgency"] == "high" && plain["topic"] == "news")
        #expect(plain["content-encoding"] == "aes128gcm" && plain["x-wns-cache-policy"] == nil)
        #expect(plain["authorization"]?.hasPrefix("vapid t=") == true)
        let edge = try headers(message, endpoint: "https://db5.notify.windows.com/w/?token=x")
        #expect(edge["x-wns-cache-policy"] == "no-cache")
    }

    @Test(arguments: ["", "a b", "ü", String(repeating: "a", count: 33), "a+b"])
    func `a topic that is none is refused`(topic: String) {
        #expect(throws: WebPushError.self) { try WebPushMessage(payload: [], ttl: 1, topic: topic) }
    }

    @Test(
        arguments: [
            (#"{"reason":"BadJwtToken"}"#, WebPushReason.badToken), (#"{"code":410,"errno":103}"#, .number(103)),
            ("<html>", nil), ("", nil), (#"{"errno":"103"}"#, nil),
        ] as [(String, WebPushReason?)])
    func `a reason is read where it is known`(body: String, reason: WebPushReason?) {
        let answer = WebPushAnswer(OutboundResponse(status: 400, body: Array(body.utf8)))
        #expect(answer == .rejected(WebPushRejection(status: 400, reason: reason, retryAfter: nil)))
    }

    @Test(
        arguments: [
            (#"{"reason":"a b"}"#, [:], "a b"),
            ("push subscription has expired.\n", [:], "push subscription has expired."),
            (#"{"code":401,"errno":109,"message":"Expired"}"#, [:], "Expired"),
            ("", ["x-wns-error-description": "The channel is not known"], "The channel is not known"),
            (#"{"reason":"BadJwtToken"}"#, [:], nil),
        ] as [(String, [String: String], String?)])
    func `a human sentence is kept where the reason says less`(
        body: String, headers: [String: String], words: String?
    ) {
        let response = OutboundResponse(
            status: 400, headers: HTTPHeaders(headers.map { ($0, $1) }), body: Array(body.utf8))
        guard case .rejected(let rejection) = WebPushAnswer(response) else {
            Issue.record("400 is no success")
            return
        }
        #expect(rejection.words == words)
    }

    @Test func `a notification Microsoft discarded was not accepted`() {
        func answer(_ headers: [(String, String)]) -> WebPushAnswer {
            WebPushAnswer(OutboundResponse(status: 201, headers: HTTPHeaders(headers)))
        }
        #expect(answer([("X-WNS-Status", "received")]) == .accepted)
        #expect(
            answer([("X-WNS-Status", "dropped"), ("X-WNS-DeviceConnectionStatus", "disconnected")])
                == .dropped("the device is disconnected"))
        #expect(
            answer([("X-WNS-Status", "channelthrottled"), ("Retry-After", "60")])
                == .rejected(
                    WebPushRejection(status: 429, reason: .word("channelthrottled"), retryAfter: .seconds(60))))
    }

    @Test(arguments: [200, 201, 202, 204])
    func `each kind of success is one`(status: Int) {
        #expect(WebPushAnswer(OutboundResponse(status: status)) == .accepted)
    }
}
