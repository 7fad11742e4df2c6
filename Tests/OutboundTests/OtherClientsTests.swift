import Foundation
import HTTP2Client
import NIOHTTP1
import Outbound
import Testing

@testable import ADM
@testable import MPNS
@testable import PAP
@testable import WNS
@testable import Webhook

extension [HTTP2Header] {
    fileprivate func value(_ name: String) -> String? {
        first { $0.name.elementsEqual(name.utf8) }.map { String(decoding: $0.value, as: UTF8.self) }
    }
}

@Suite struct WNSTests {
    @Test(arguments: [
        "https://db5.notify.windows.com/?token=Aw%3d", "https://HK2.Notify.Windows.com:443/x",
    ])
    func `a channel of Microsoft is one, byte for byte`(uri: String) throws {
        #expect(try WNSChannel(uri).uri == uri)
    }

    @Test(arguments: [
        "http://db5.notify.windows.com/x", "https://notify.windows.com.evil.example/x",
        "https://evil.example/.notify.windows.com",
        "https://evil.example?x.notify.windows.com", "https://a@b.notify.windows.com/",
        "https://evilnotify.windows.com/",
        "https://evil.example\\.notify.windows.com/", "https://evil.example#.notify.windows.com", "",
    ])
    func `a channel that leads elsewhere is refused`(uri: String) {
        #expect(throws: WNSError.self) { try WNSChannel(uri) }
    }

    @Test func `headers state the body's type and lifetime`() throws {
        let message = try WNSMessage(.tile, body: [1], ttl: 60, isCached: true, tag: "a1", priority: .low)
        #expect(message.headers.value("x-wns-type") == "wns/tile")
        #expect(message.headers.value("content-type") == "text/xml")
        #expect(message.headers.value("x-wns-ttl") == "60")
        #expect(message.headers.value("x-wns-cache-policy") == "cache")
        #expect(message.headers.value("x-wns-tag") == "a1")
        #expect(message.headers.value("x-wns-priority") == "3")
        #expect(message.headers.value("x-wns-requestforstatus") == "true")
        #expect(try WNSMessage(.raw, body: [1]).headers.value("content-type") == "application/octet-stream")
    }

    @Test func `a message WNS would refuse is refused before`() {
        #expect(throws: WNSError.self) { try WNSMessage(.toast, body: [UInt8](repeating: 1, count: 5_001)) }
        #expect(throws: WNSError.self) { try WNSMessage(.toast, body: []) }
        #expect(throws: WNSError.self) { try WNSMessage(.tile, body: [1], tag: "seventeenletterss") }
        #expect(throws: WNSError.self) { try WNSMessage(.tile, body: [1], tag: "a-b") }
    }

    @Test(
        arguments: [
            (200, [("X-WNS-Status", "received")], .received), (200, [("X-WNS-Status", "dropped")], .dropped(nil)),
            (200, [("x-wns-status", "channelthrottled")], .channelThrottled(retryAfter: nil)), (200, [], .received),
            (
                200, [("X-WNS-Status", " Dropped"), ("X-WNS-DeviceConnectionStatus", "disconnected")],
                .dropped("the device is disconnected")
            ), (200, [("X-WNS-NotificationStatus", "dropped")], .dropped(nil)),
            (
                410, [("X-WNS-Error-Description", "Channel\u{1}expired")],
                .rejected(WNSRejection(status: 410, description: "Channel expired", retryAfter: nil))
            ),
            (
                406, [("Retry-After", "60")],
                .rejected(WNSRejection(status: 406, description: nil, retryAfter: .seconds(60)))
            ),
        ] as [(Int, [(String, String)], WNSAnswer)])
    func `the answer stands in the headers`(status: Int, headers: [(String, String)], answer: WNSAnswer) {
        #expect(WNSAnswer(OutboundResponse(status: status, headers: HTTPHeaders(headers))) == answer)
    }
}

@Suite struct MPNSTests {
    @Test(
        arguments: [
            (nil, .immediate), (0, .immediate), (449, .immediate), (450, .within450Seconds), (899, .within450Seconds),
            (900, .within900Seconds), (86_400, .within900Seconds),
        ] as [(Int?, MPNSMessage.Batching)])
    func `the service may wait as long as the push lasts`(lifetime: Int?, batching: MPNSMessage.Batching) {
        #expect(MPNSMessage.Batching(lifetime: lifetime) == batching)
    }

    @Test(
        arguments: [
            (.tile, .immediate, 1), (.tile, .within450Seconds, 11), (.tile, .within900Seconds, 21),
            (.toast, .immediate, 2),
            (.toast, .within450Seconds, 12), (.toast, .within900Seconds, 22), (.raw, .immediate, 3),
            (.raw, .within450Seconds, 13),
            (.raw, .within900Seconds, 23),
        ] as [(MPNSMessage.Kind, MPNSMessage.Batching, Int)])
    func `kind and batching make the class`(kind: MPNSMessage.Kind, batching: MPNSMessage.Batching, number: Int) throws
    {
        let headers = try MPNSMessage(kind, body: [1], batching: batching).headers
        #expect(headers.value("x-notificationclass") == "\(number)")
        #expect(
            headers.value("x-windowsphone-target") == (kind == .toast ? "toast" : kind == .tile ? "token" : nil))
    }

    @Test func `the three headers are read in any case`() {
        let response = OutboundResponse(
            status: 412,
            headers: [
                "X-NotificationStatus": "Dropped", "X-DeviceConnectionStatus": "InActive",
                "X-SubscriptionStatus": "N/A",
            ])
        #expect(MPNSVerdict(response) == MPNSVerdict(status: 412, notification: .dropped, connection: .inactive))
    }

    @Test(arguments: [
        "ftp://a.notify.live.net/x", "http://notify.live.net.evil.example/", "http://u@a.notify.live.net/",
    ])
    func `a channel that leads elsewhere is refused`(uri: String) {
        #expect(throws: MPNSError.self) { try MPNSChannel(uri) }
    }
}

@Suite struct ADMTests {
    @Test func `the body has data, key and Amazon's lifetime`() throws {
        let message = try ADMMessage(data: ["b": "2", "a": "/"], consolidationKey: "k", lifetime: 1)
        #expect(
            String(decoding: message.body, as: UTF8.self)
                == #"{"consolidationKey":"k","data":{"a":"/","b":"2"},"expiresAfter":60}"#)
        #expect(throws: ADMError.self) { try ADMMessage(data: ["a": String(repeating: "x", count: 6_144)]) }
    }

    @Test(
        arguments: [
            (200, #"{"registrationID":"r1"}"#, .accepted(replacement: nil)),
            (200, #"{"registrationID":"r2"}"#, .accepted(replacement: "r2")), (200, "?", .accepted(replacement: nil)),
            (
                400, #"{"reason":"Unregistered"}"#,
                .rejected(ADMRejection(status: 400, reason: .unregistered, retryAfter: nil, words: "Unregistered"))
            ),
            (
                400, #"{"reason":"New"}"#,
                .rejected(ADMRejection(status: 400, reason: nil, retryAfter: nil, words: "New"))
            ),
            (502, "<html>", .rejected(ADMRejection(status: 502, reason: nil, retryAfter: nil))),
        ] as [(Int, String, ADMAnswer)])
    func `answers are read as far as they can be`(status: Int, body: String, answer: ADMAnswer) {
        #expect(ADMAnswer(OutboundResponse(status: status, body: Array(body.utf8)), of: "r1") == answer)
    }
}

@Suite struct PAPTests {
    @Test func `a push is a control entity and its content`() throws {
        let message = try PAPMessage(content: Array("hi".utf8), deliverBefore: 1_767_225_600)
        let device = try PAPDevice(address: "a<&\"b", pushID: "p1")
        let body = String(decoding: message.body(for: device, from: "app", boundary: "X"), as: UTF8.self)
        let lines = [
            "--X", "Content-Type: application/xml; charset=UTF-8", "", #"<?xml version="1.0"?>"#,
            #"<!DOCTYPE pap PUBLIC "-//WAPFORUM//DTD PAP 2.1//EN" "http://www.openmobilealliance.org/tech/DTD/pap_2.1.dtd">"#,
            #"<pap><push-message push-id="p1" source-reference="app" deliver-before-timestamp="2026-01-01T00:00:00Z"><address address-value="a&lt;&amp;&quot;b"/><quality-of-service delivery-method="unconfirmed"/></push-message></pap>"#,
            "--X", "Content-Type: text/plain; charset=utf-8", "", "hi", "--X--", "",
        ]
        #expect(body == lines.joined(separator: "\r\n"))
        #expect(throws: PAPError.self) { try PAPDevice(address: "push_all", pushID: "p") }
    }

    @Test(
        arguments: [
            (
                #"<?xml?><pap><push-response push-id="p"><response-result code="1001" desc="ok"/></push-response></pap>"#,
                1_001
            ),
            ("<pap><badmessage-response\n desc='a>' code='2000'/></pap>", nil),
            ("<pap><badmessage-response\n desc='a' code='2000'/></pap>", 2_000),
            (#"<response-result code = "1500" />"#, 1_500), (#"<response-result desc="x"/>"#, nil),
            (#"<response-result code="x"/>"#, nil), (#"<response-results code="1"/>"#, nil), ("", nil), ("<", nil),
            ("<response-result code=\"1", nil), ("<response-result code=", nil),
            ("<response-result =\"\" code=\"9\">", 9),
        ] as [(String, Int?)])
    func `the code is read wherever it stands`(xml: String, code: Int?) {
        switch PAPAnswer(OutboundResponse(status: 200, body: Array(xml.utf8))) {
        case .result(let found, _): #expect(found == code)
        case .rejected(let status, _, _): #expect(status == 200 && code == nil)
        default: Issue.record("an answer is an answer")
        }
    }
}

@Suite struct WebhookTests {
    /// Source: standardwebhooks.com, the example of its libraries' tests.
    @Test func `the signature is that of Standard Webhooks`() throws {
        let signature = try #require(WebhookSignature(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let code = signature.code(
            of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330)
        #expect(code == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `two secrets sign while one replaces another`() throws {
        let new = try #require(WebhookSignature(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let former = try #require(WebhookSignature(secret: "twenty-four bytes at least"))
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let headers = WebhookSignature.headers(
            of: body, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330, by: [new, former])
        let code = former.code(of: body, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330)
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers[0].value == "msg_p5jXN8AQM9LWM0D4loKWxJek" && headers[1].value == "1614265330")
        #expect(headers[2].value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,\(code)")
    }

    @Test func `equal bodies have equal ids and times are signed`() throws {
        let signature = try #require(WebhookSignature(secret: "twenty-four bytes at least"))
        let first = signature.headers(of: [1], time: 1)
        let later = signature.headers(of: [1], time: 2)
        #expect(first.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(first[0].value == later[0].value && first[2].value != later[2].value)
        #expect(signature.headers(of: [2], time: 1)[0].value != first[0].value)
        #expect(WebhookSignature(secret: "short") == nil && WebhookSignature(secret: "whsec_????") == nil)
    }

    @Test func `a batch is the push and its devices`() throws {
        let batch = WebhookBatch(
            push: Array(#"{"body":"hi"}"#.utf8),
            devices: [.init(messageID: "m1", token: "a\"\\\u{1}ü"), .init(messageID: "m2", token: "b")])
        let text = String(decoding: batch.body, as: UTF8.self)
        #expect(
            text
                == #"{"push":{"body":"hi"},"devices":[{"id":"m1","token":"a\"\\\u0001ü"},{"id":"m2","token":"b"}]}"#)
        _ = try JSONSerialization.jsonObject(with: Data(batch.body))
    }

    @Test(
        arguments: [
            (204, "", .verdicts([.accepted, .accepted])),
            (
                200, #"{"outcomes":[{"outcome":"gone"},{"outcome":"retry","retryAfter":5}]}"#,
                .verdicts([.gone, .retry(after: .seconds(5))])
            ),
            (
                200, #"{"outcomes":[{"outcome":"refused"},{"outcome":"retry"}],"x":1}"#,
                .verdicts([.refused, .retry(after: nil)])
            ),
            (200, #"{"outcomes":[{"outcome":"accepted"}]}"#, .unreadable),
            (200, #"{"outcomes":[{"outcome":"accepted"},{"outcome":"lost"}]}"#, .unreadable), (200, "ok", .unreadable),
            (503, "x", .rejected(status: 503, retryAfter: nil, words: "x")),
            (301, "", .rejected(status: 301, retryAfter: nil)),
        ] as [(Int, String, WebhookAnswer)])
    func `a batch has a verdict per device or none`(status: Int, body: String, answer: WebhookAnswer) {
        #expect(WebhookAnswer(OutboundResponse(status: status, body: Array(body.utf8)), devices: 2) == answer)
    }
}
