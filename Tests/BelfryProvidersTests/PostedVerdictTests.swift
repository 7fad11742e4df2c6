import ADM
import BelfryService
import MPNS
import NIOHTTP1
import Outbound
import PAP
import Testing
import WNS
import WebPush
import Webhook

@testable import BelfryProviders

/// The rows of docs/Providers.md for the providers that are posted to, from the bytes of the answer to the outcome.
@Suite struct PostedVerdictTests {
    private static let sentAt = Instant(milliseconds: 1_750_000_000_000)

    private static func response(_ status: Int, _ headers: [(String, String)] = [], _ body: String = "")
        -> OutboundResponse
    {
        OutboundResponse(status: status, headers: HTTPHeaders(headers), body: Array(body.utf8))
    }

    @Test(
        arguments: [
            (201, "", .accepted), (200, "", .accepted), (202, "", .accepted), (204, "", .accepted),
            (301, "", .refused(.other)), (308, "", .refused(.other)),
            (400, "", .refused(.other)), (400, #"{"errno":113}"#, .refused(.badCollapseID)),
            (400, #"{"errno":112}"#, .refused(.badExpiration)), (400, #"{"errno":111}"#, .refused(.badExpiration)),
            (400, #"{"reason":"BadUrgency"}"#, .refused(.badPriority)),
            (400, #"{"reason":"VapidPkHashMismatch"}"#, .refused(.tokenOfAnotherApplication)),
            (401, "", .refused(.forbidden)), (403, "", .refused(.forbidden)),
            (403, #"{"reason":"BadJwtToken"}"#, .refused(.forbidden)),
            (404, "", .gone(since: sentAt)), (410, #"{"errno":103}"#, .gone(since: sentAt)),
            (405, "", .refused(.methodNotAllowed)), (413, "", .refused(.payloadTooLarge)),
            (406, "", .throttled(retryAfter: nil)), (429, "", .throttled(retryAfter: nil)),
            (408, "", .failed(retryAfter: nil)), (500, "", .failed(retryAfter: nil)),
            (502, #"{"errno":901}"#, .failed(retryAfter: nil)),
            (503, "", .failed(retryAfter: nil)), (418, "", .refused(.other)),
        ] as [(Int, String, Outcome)])
    func `each answer of a push service has its outcome`(status: Int, body: String, outcome: Outcome) {
        let answer = WebPushAnswer(Self.response(status, [], body))
        #expect(Outcome(answer, isApple: false, sentAt: Self.sentAt) == outcome)
    }

    @Test func `only Apple's own bad-token word parks a web platform`() {
        let answer = WebPushAnswer(Self.response(403, [], #"{"reason":"BadJwtToken"}"#))
        guard case .credentialsRefused = Outcome(answer, isApple: true, sentAt: Self.sentAt) else {
            Issue.record("it should bar")
            return
        }
        for status in 300..<600 where status != 403 {
            let answer = WebPushAnswer(Self.response(status, [], #"{"reason":"BadJwtToken"}"#))
            if case .credentialsRefused = Outcome(answer, isApple: true, sentAt: Self.sentAt) {
                Issue.record("\(status) bars")
            }
        }
    }

    @Test func `a stranger's requested wait is an hour at most`() {
        let answer = WebPushAnswer(Self.response(429, [("Retry-After", "31536000")]))
        #expect(Outcome(answer, isApple: false, sentAt: Self.sentAt) == .throttled(retryAfter: .seconds(3_600)))
        let short = WebPushAnswer(Self.response(503, [("Retry-After", "7")]))
        #expect(Outcome(short, isApple: false, sentAt: Self.sentAt) == .failed(retryAfter: .seconds(7)))
        let rate = Self.response(429, [("Retry-After", "43200")], #"{"reason":"MaxRateExceeded"}"#)
        #expect(Outcome(ADMAnswer(rate, of: "r"), sentAt: Self.sentAt) == .throttled(retryAfter: .seconds(3_600)))
    }

    @Test(
        arguments: [
            (.addressRefused, .refused(.addressNotAllowed)), (.url, .refused(.badToken)),
            (.connect, .unreachable(ConnectionFault(.connect, ""))),
            (.connectDeadline, .unreachable(ConnectionFault(.timeout, ""))),
            (.unresolved, .unreachable(ConnectionFault(.dns, ""))), (.tls, .unreachable(ConnectionFault(.tls, ""))),
            (.deadline, .failed(retryAfter: nil)),
        ] as [(OutboundFault.Code, Outcome)])
    func `an unsent push is retried, or refused for its address`(code: OutboundFault.Code, outcome: Outcome) {
        #expect(Outcome(unprocessed: OutboundFault(code, "")) == outcome)
        #expect(Outcome(WNSAnswer.unprocessed(OutboundFault(code, "")), sentAt: Self.sentAt) == outcome)
    }

    @Test func `a request without an answer is unanswered`() {
        let fault = OutboundFault(.deadline, "")
        #expect(Outcome(WebPushAnswer.unknown(fault), isApple: false, sentAt: Self.sentAt) == .unanswered)
        #expect(Outcome(WNSAnswer.unknown(fault), sentAt: Self.sentAt) == .unanswered)
        #expect(Outcome(MPNSAnswer.unknown(fault), sentAt: Self.sentAt) == .unanswered)
        #expect(Outcome(ADMAnswer.unknown(fault), sentAt: Self.sentAt) == .unanswered)
        #expect(Outcome(PAPAnswer.unknown(fault), sentAt: Self.sentAt) == .unanswered)
        #expect(Outcome.table(.unknown(fault), devices: 2, sentAt: Self.sentAt) == [.unanswered, .unanswered])
    }

    @Test(
        arguments: [
            (200, ["X-WNS-Status": "received"], .accepted), (200, ["X-WNS-Status": "dropped"], .refused(.dropped)),
            (200, ["X-WNS-Status": "channelthrottled"], .throttled(retryAfter: .seconds(600))),
            (
                200, ["X-WNS-Status": "channelthrottled", "Retry-After": "90"], .throttled(retryAfter: .seconds(90))
            ),
            (
                200, ["X-WNS-Status": "channelthrottled", "Retry-After": "43200"],
                .throttled(retryAfter: .seconds(3_600))
            ),
            (406, ["Retry-After": "7200"], .throttled(retryAfter: .seconds(3_600))),
            (412, ["Retry-After": "7200"], .throttled(retryAfter: .seconds(3_600))),
            (400, [:], .refused(.other)), (401, [:], .credentialsRefused("WNS refuses the access token: 401")),
            (403, [:], .refused(.tokenOfAnotherApplication)), (404, [:], .gone(since: sentAt)),
            (405, [:], .refused(.methodNotAllowed)), (406, [:], .throttled(retryAfter: .seconds(3_600))),
            (406, ["Retry-After": "30"], .throttled(retryAfter: .seconds(30))), (410, [:], .gone(since: sentAt)),
            (
                410, ["X-WNS-Error-Description": "Domain Blocked"],
                .credentialsRefused("WNS blocks this app: Domain Blocked")
            ),
            (412, [:], .throttled(retryAfter: .seconds(3_600))), (413, [:], .refused(.payloadTooLarge)),
            (429, [:], .throttled(retryAfter: .seconds(3_600))), (500, [:], .failed(retryAfter: nil)),
            (503, ["Retry-After": "5"], .failed(retryAfter: .seconds(5))),
        ] as [(Int, [String: String], Outcome)])
    func `each answer of WNS has its outcome`(status: Int, headers: [String: String], outcome: Outcome) {
        let answer = WNSAnswer(Self.response(status, headers.map { ($0, $1) }))
        #expect(Outcome(answer, sentAt: Self.sentAt) == outcome)
    }

    @Test(
        arguments: [
            (MPNSVerdict(status: 200, notification: .received), .accepted), (MPNSVerdict(status: 200), .accepted),
            (MPNSVerdict(status: 200, notification: .queueFull), .throttled(retryAfter: .seconds(240))),
            (MPNSVerdict(status: 200, notification: .suppressed), .refused(.dropped)),
            (MPNSVerdict(status: 200, notification: .dropped), .refused(.dropped)),
            (MPNSVerdict(status: 400), .refused(.other)), (MPNSVerdict(status: 405), .refused(.methodNotAllowed)),
            (MPNSVerdict(status: 401, notification: .dropped, subscription: .active), .refused(.forbidden)),
            (MPNSVerdict(status: 403), .credentialsRefused("MPNS refuses the certificate")),
            (MPNSVerdict(status: 404, notification: .dropped, subscription: .expired), .gone(since: sentAt)),
            (MPNSVerdict(status: 404, notification: .dropped, subscription: .active), .refused(.badToken)),
            (MPNSVerdict(status: 404), .refused(.badToken)),
            (MPNSVerdict(status: 406, notification: .dropped), .throttled(retryAfter: .seconds(3_600))),
            (
                MPNSVerdict(status: 412, notification: .dropped, connection: .inactive),
                .throttled(retryAfter: .seconds(3_660))
            ),
            (
                MPNSVerdict(status: 412, retryAfter: .seconds(60)), .throttled(retryAfter: .seconds(3_660))
            ),
            (
                MPNSVerdict(status: 412, retryAfter: .seconds(7_200)), .throttled(retryAfter: .seconds(3_660))
            ),
            (
                MPNSVerdict(status: 200, notification: .queueFull, retryAfter: .seconds(30)),
                .throttled(retryAfter: .seconds(30))
            ),
            (
                MPNSVerdict(status: 200, notification: .queueFull, retryAfter: .seconds(43_200)),
                .throttled(retryAfter: .seconds(3_600))
            ),
            (MPNSVerdict(status: 406, retryAfter: .seconds(7_200)), .throttled(retryAfter: .seconds(3_600))),
            (MPNSVerdict(status: 503), .failed(retryAfter: nil)),
        ] as [(MPNSVerdict, Outcome)])
    func `each answer of MPNS has its outcome`(verdict: MPNSVerdict, outcome: Outcome) {
        #expect(Outcome(MPNSAnswer.answered(verdict), sentAt: Self.sentAt) == outcome)
    }

    @Test(
        arguments: [
            (200, #"{"registrationID":"r"}"#, .accepted),
            (200, #"{"registrationID":"new"}"#, .moved(to: DeviceToken(bytes: Array("new".utf8)))),
            (400, #"{"reason":"Unregistered"}"#, .gone(since: sentAt)),
            (400, #"{"reason":"InvalidRegistrationId"}"#, .refused(.badToken)),
            (400, #"{"reason":"InvalidData"}"#, .refused(.other)),
            (400, #"{"reason":"InvalidConsolidationKey"}"#, .refused(.badCollapseID)),
            (400, #"{"reason":"InvalidExpiration"}"#, .refused(.badExpiration)), (400, "", .refused(.other)),
            (401, #"{"reason":"AccessTokenExpired"}"#, .credentialsRefused("ADM refuses the access token")),
            (401, "", .credentialsRefused("ADM refuses the access token")), (403, "", .refused(.forbidden)),
            (413, #"{"reason":"MessageTooLarge"}"#, .refused(.payloadTooLarge)),
            (429, #"{"reason":"MaxRateExceeded"}"#, .throttled(retryAfter: nil)), (500, "", .failed(retryAfter: nil)),
            (503, "", .failed(retryAfter: nil)),
        ] as [(Int, String, Outcome)])
    func `each answer of ADM has its outcome`(status: Int, body: String, outcome: Outcome) {
        #expect(Outcome(ADMAnswer(Self.response(status, [], body), of: "r"), sentAt: Self.sentAt) == outcome)
    }

    @Test(
        arguments: [
            (1_000, .accepted), (1_001, .accepted), (1_500, .accepted), (2_000, .refused(.other)),
            (2_001, .refused(.badToken)),
            (2_002, .gone(since: sentAt)), (2_007, .accepted), (4_502, .gone(since: sentAt)),
            (22_002, .gone(since: sentAt)),
            (2_500, .throttled(retryAfter: .seconds(32_000))), (22_005, .throttled(retryAfter: .seconds(32_000))),
            (3_000, .failed(retryAfter: nil)), (3_001, .refused(.other)), (3_002, .refused(.other)),
            (3_007, .failed(retryAfter: nil)), (4_000, .failed(retryAfter: nil)), (4_001, .failed(retryAfter: nil)),
            (23_000, .failed(retryAfter: nil)), (4_500, .refused(.badExpiration)), (4_501, .refused(.other)),
            (4_503, .refused(.forbidden)), (9_999, .refused(.other)),
        ] as [(Int, Outcome)])
    func `each code of the gateway has its outcome`(code: Int, outcome: Outcome) {
        let answer = PAPAnswer(Self.response(200, [], #"<response-result code="\#(code)"/>"#))
        // 1,750,000,000 is 15:06:40 UTC, 32,000 seconds before midnight.
        #expect(Outcome(answer, sentAt: Self.sentAt) == outcome)
    }

    @Test(
        arguments: [
            (200, .unanswered), (401, .credentialsRefused("the push gateway refuses the application's password")),
            (403, .credentialsRefused("the push gateway refuses the application's password")),
            (429, .throttled(retryAfter: nil)),
            (500, .failed(retryAfter: nil)), (400, .refused(.other)),
        ] as [(Int, Outcome)])
    func `a gateway answer without code is judged by status`(status: Int, outcome: Outcome) {
        #expect(Outcome(PAPAnswer(Self.response(status)), sentAt: Self.sentAt) == outcome)
    }

    @Test func `a webhook answers for each device`() {
        let verdicts = WebhookAnswer.verdicts([
            .accepted, .refused, .gone, .retry(after: nil), .retry(after: .seconds(9)),
        ])
        #expect(
            Outcome.table(verdicts, devices: 5, sentAt: Self.sentAt) == [
                .accepted, .refused(.other), .gone(since: Self.sentAt), .failed(retryAfter: nil),
                .failed(retryAfter: .seconds(9)),
            ])
    }

    @Test(
        arguments: [
            (.unreadable, .unanswered),
            (.rejected(status: 301, retryAfter: nil), .credentialsRefused("the webhook answered 301", by: .request)),
            (.rejected(status: 401, retryAfter: nil), .credentialsRefused("the webhook answered 401", by: .request)),
            (.rejected(status: 403, retryAfter: nil), .credentialsRefused("the webhook answered 403", by: .request)),
            (.rejected(status: 404, retryAfter: nil), .credentialsRefused("the webhook answered 404", by: .request)),
            (.rejected(status: 400, retryAfter: nil), .refused(.other)),
            (.rejected(status: 413, retryAfter: nil), .refused(.payloadTooLarge)),
            (.rejected(status: 429, retryAfter: .seconds(3)), .throttled(retryAfter: .seconds(3))),
            (.rejected(status: 500, retryAfter: nil), .failed(retryAfter: nil)),
        ] as [(WebhookAnswer, Outcome)])
    func `any other webhook answer applies to the batch`(answer: WebhookAnswer, outcome: Outcome) {
        #expect(Outcome.table(answer, devices: 2, sentAt: Self.sentAt) == [outcome, outcome])
    }

    @Test func `a refused client secret parks; a troubled token service fails`() {
        #expect(Outcome(AccessTokenError(isRefusal: true, "no")) == .credentialsRefused("no", by: .shared))
        let trouble = AccessTokenError(isRefusal: false, "down", retryAfter: .seconds(4))
        #expect(Outcome(trouble) == .failed(retryAfter: .seconds(4)))
        let lost = AccessTokenError(isRefusal: false, "down", fault: OutboundFault(.unresolved, "no such name"))
        #expect(Outcome(lost) == .unreachable(ConnectionFault(.dns, "down")))
    }
}
