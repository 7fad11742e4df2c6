import Foundation
import HTTPExchange
import Testing

@testable import HMS

@Suite struct HMSTests {
    private static let tokens = ["a", "b"].map { Array($0.utf8) }

    private static func answers(_ status: Int, _ body: String) -> [HMSAnswer] {
        HMSAnswer.answers(.response(HTTPReply(status: status, body: Array(body.utf8))), tokens: tokens)
    }

    private static func page(_ code: String, _ message: String = "m") -> String {
        #"{"code":"\#(code)","msg":"\#(message)","requestId":"r"}"#
    }

    @Test func `a request names all its devices within the message`() throws {
        let message = try HMSMessage(data: #"{"k":"v"}"#, timeToLive: 60, collapseKey: 3, isHighPriority: true)
        #expect(
            String(decoding: HMSClient.body(message, Self.tokens), as: UTF8.self)
                == #"{"validate_only":false,"message":{"android":{"collapse_key":3,"ttl":"60s","urgency":"HIGH"},"#
                + #""data":"{\"k\":\"v\"}","token":["a","b"]}}"#)
        let checked = HMSClient.body(try HMSMessage(data: "x", isValidatedOnly: true), [])
        #expect(
            String(decoding: checked, as: UTF8.self)
                == #"{"validate_only":true,"message":{"android":{},"data":"x","token":[]}}"#)
    }

    @Test func `what Push Kit would not take is refused`() {
        #expect(throws: HMSMessageError.timeToLive(0)) { try HMSMessage(data: "", timeToLive: 0) }
        #expect(throws: HMSMessageError.collapseKey(101)) { try HMSMessage(data: "", collapseKey: 101) }
        #expect(throws: HMSMessageError.self) { try HMSMessage(data: String(repeating: "x", count: 4_096)) }
    }

    @Test func `the form of a request for a token escapes what it has to`() throws {
        let credentials = try HMSCredentials(appID: "100", appSecret: "a+b&c=/~")
        let poster = TokenServer.body(of: credentials)
        #expect(
            String(decoding: poster, as: UTF8.self)
                == "grant_type=client_credentials&client_id=100&client_secret=a%2Bb%26c%3D%2F%7E")
    }

    @Test func `success is for all`() {
        #expect(Self.answers(200, Self.page("80000000")) == Array(repeating: .accepted(requestID: "r"), count: 2))
    }

    @Test func `of a partial success those called illegal are not taken`() {
        let message = #"{\"success\":1,\"failure\":1,\"illegal_tokens\":[\"b\"]}"#
        #expect(Self.answers(200, Self.page("80100000", message)) == [.accepted(requestID: "r"), .illegalToken])
    }

    @Test(arguments: ["", "{}", "[]", #"{"code":80000000}"#, #"{"code":"x"}"#, page("80100000", "no list")])
    func `a 200 that cannot be understood may have been delivered`(body: String) {
        guard case .unknown? = Self.answers(200, body).first else {
            Issue.record("\(body) was understood")
            return
        }
    }

    @Test(arguments: [200, 400, 401])
    func `a code speaks whatever the status`(status: Int) {
        let rejected = HMSAnswer.rejected(HMSRejection(status: status, code: .allTokensInvalid))
        #expect(Self.answers(status, Self.page("80300007")) == [rejected, rejected])
        #expect(Self.answers(503, "<html>").first == .rejected(HMSRejection(status: 503, code: nil)))
    }

    @Test(arguments: [
        (200, page("80200003"), true), (401, page("80200001"), true), (401, "", true), (401, page("80300002"), false),
        (200, page("80000000"), false),
    ])
    func `some answers say that our token was not taken`(status: Int, body: String, isOurs: Bool) {
        #expect(Self.answers(status, body).first?.isUnauthenticated == isOurs)
    }

    @Test(arguments: [
        (200, #"{"access_token":"x\/y","expires_in":3600}"#, nil), (400, #"{"error":1101,"sub_error":20001}"#, true),
        (200, #"{"error":1101}"#, true), (500, "", false), (429, "", false), (200, "{}", false),
    ])
    func `who is refused by the token server must act`(status: Int, body: String, isRefusal: Bool?) {
        switch TokenServer.grant(.response(HTTPReply(status: status, body: Array(body.utf8))), url: "https://o") {
        case .success(let grant):
            #expect(isRefusal == nil)
            #expect(grant == AccessGrant(token: "x/y", lifetime: .seconds(3_600)))
        case .failure(let error): #expect(error.isRefusal == isRefusal)
        }
    }

    @Test(arguments: [("", "s"), ("12a", "s"), ("1", ""), ("1", "a b")])
    func `an id of other than digits and a secret of other than ASCII are refused`(id: String, secret: String) {
        #expect(throws: HMSCredentialsError.self) { try HMSCredentials(appID: id, appSecret: secret) }
    }
}
