import CryptoExtras
import Foundation
import KeyFiles
import Outbound
import Testing

@testable import HMS

@Suite struct HMSTests {
    private static let tokens = ["a", "b"].map { Array($0.utf8) }

    private static func answers(_ status: Int, _ body: String) -> [HMSAnswer] {
        HMSAnswer.answers(.response(OutboundResponse(status: status, body: Array(body.utf8))), tokens: tokens)
    }

    private static func responseBody(_ code: String, _ message: String = "m") -> String {
        #"{"code":"\#(code)","msg":"\#(message)","requestId":"r"}"#
    }

    @Test func `a request names all its devices within the message`() throws {
        let message = try HMSMessage(data: #"{"k":"v"}"#, timeToLive: 60, collapseKey: 3, isHighPriority: true)
        #expect(
            String(decoding: message.body(for: Self.tokens), as: UTF8.self)
                == #"{"validate_only":false,"message":{"android":{"collapse_key":3,"ttl":"60s","urgency":"HIGH"},"#
                + #""data":"{\"k\":\"v\"}","token":["a","b"]}}"#)
        let checked = try HMSMessage(data: "x", isValidatedOnly: true).body(for: [])
        #expect(
            String(decoding: checked, as: UTF8.self)
                == #"{"validate_only":true,"message":{"android":{},"data":"x","token":[]}}"#)
    }

    @Test func `a message Push Kit would refuse is refused`() {
        #expect(throws: HMSMessageError.timeToLive(0)) { try HMSMessage(data: "", timeToLive: 0) }
        #expect(throws: HMSMessageError.collapseKey(101)) { try HMSMessage(data: "", collapseKey: 101) }
        #expect(throws: HMSMessageError.self) { try HMSMessage(data: String(repeating: "x", count: 4_096)) }
    }

    @Test func `success is for all`() {
        #expect(
            Self.answers(200, Self.responseBody("80000000")) == Array(repeating: .accepted(requestID: "r"), count: 2))
    }

    @Test func `a partial success excludes the tokens called illegal`() {
        let message = #"{\"success\":1,\"failure\":1,\"illegal_tokens\":[\"b\"]}"#
        #expect(
            Self.answers(200, Self.responseBody("80100000", message)) == [
                .accepted(requestID: "r"), .illegalToken(.unstated),
            ])
    }

    @Test(arguments: [
        #"{\"noRight\":[\"b\"]}"#, #"{\"illegal_tokens\":{\"noRight\":[\"b\"]}}"#,
        #"{\"illegal_tokens\":[\"b\"],\"noRight\":[\"b\"],\"success\":1}"#,
    ])
    func `v3 says why a token was not taken`(message: String) {
        let answers = Self.answers(200, Self.responseBody("80100000", message))
        #expect(answers == [.accepted(requestID: "r"), .illegalToken(.noRight)])
    }

    @Test func `each token's cause counts where all are refused`() {
        let answers = Self.answers(
            200, Self.responseBody("80300007", #"{\"failure\":2,\"illegalTokens\":{\"noRight\":[\"b\"]}}"#))
        guard case .rejected(let rejection) = answers[0] else {
            Issue.record("\(answers)")
            return
        }
        #expect(rejection.code == .allTokensInvalid && answers[1] == .illegalToken(.noRight))
    }

    @Test func `both v3 messages name devices as target`() throws {
        let background = try HMSMessage(background: #"{"k":"v"}"#, timeToLive: 60)
        #expect(background.pushType == 6)
        #expect(
            String(decoding: background.body(for: Self.tokens), as: UTF8.self)
                == #"{"payload":{"extraData":"{\"k\":\"v\"}"},"pushOptions":{"ttl":60},"target":{"token":["a","b"]}}"#)
        let alert = try HMSMessage(notification: HMSNotification(title: "t", body: "b", data: ["k": "v"]))
        #expect(alert.pushType == 0)
        #expect(
            String(decoding: alert.body(for: Self.tokens), as: UTF8.self)
                == #"{"payload":{"notification":{"body":"b","category":"MARKETING","#
                + #""clickAction":{"actionType":0,"data":{"k":"v"}},"title":"t"}},"target":{"token":["a","b"]}}"#)
    }

    @Test func `a service account signs PS256 tokens its key verifies`() throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let file = ["project_id": "77", "key_id": "k1", "sub_account": "s1", "private_key": key.pkcs8PEMRepresentation]
        let credentials = try HMSCredentials(serviceAccount: Array(try JSONEncoder().encode(file)))
        #expect(credentials.path == "/v3/77" && credentials.isServiceAccount)
        guard case .key(let signer) = credentials.proof, case .success(let grant) = signer.grant(at: 1_700_000_000)
        else {
            Issue.record("nothing was signed")
            return
        }
        let parts = grant.token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let texts = parts.prefix(2).map { String(decoding: Base64.decode($0.utf8, isExact: true) ?? [], as: UTF8.self) }
        #expect(texts[0] == #"{"alg":"PS256","kid":"k1","typ":"JWT"}"#)
        #expect(
            texts[1] == #"{"aud":"https://oauth-login.cloud.huawei.com/oauth2/v3/token","exp":1700003600,"#
                + #""iat":1700000000,"iss":"s1"}"#)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: Base64.decode(parts[2].utf8, isExact: true) ?? [])
        #expect(
            key.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8), padding: .PSS))
        #expect(grant.lifetime == .seconds(3_600))
    }

    @Test(arguments: ["", "{}", #"{"project_id":"7","key_id":"k","sub_account":"s","private_key":"none"}"#])
    func `an invalid service account is refused`(text: String) {
        #expect(throws: HMSCredentialsError.self) { try HMSCredentials(serviceAccount: Array(text.utf8)) }
    }

    @Test func `an app uses v1, a project v2`() throws {
        #expect(try HMSCredentials(appID: "1", appSecret: "s").path == "/v1/1")
        #expect(try HMSCredentials(appID: "1", appSecret: "s", projectID: "2").path == "/v2/2")
        #expect(throws: HMSCredentialsError.self) { try HMSCredentials(appID: "1", appSecret: "s", projectID: "x") }
    }

    @Test(arguments: ["", "{}", "[]", #"{"code":80000000}"#, #"{"code":"x"}"#, responseBody("80100000", "no list")])
    func `a 200 that cannot be understood may have been delivered`(body: String) {
        guard case .unknown? = Self.answers(200, body).first else {
            Issue.record("\(body) was understood")
            return
        }
    }

    @Test(arguments: [200, 400, 401])
    func `a code speaks whatever the status`(status: Int) {
        let rejected = HMSAnswer.rejected(HMSRejection(status: status, code: .allTokensInvalid, words: "m"))
        #expect(Self.answers(status, Self.responseBody("80300007")) == [rejected, rejected])
        #expect(Self.answers(503, "<html>").first == .rejected(HMSRejection(status: 503, code: nil)))
    }

    @Test(arguments: [
        (200, responseBody("80200003"), true), (401, responseBody("80200001"), true), (401, "", true),
        (401, responseBody("80200005"), true), (200, responseBody("80300036"), true),
        (401, responseBody("80300002"), false),
        (200, responseBody("80000000"), false),
    ])
    func `some answers say that our token was not taken`(status: Int, body: String, isOurs: Bool) {
        #expect(HMSAnswer.refusesToken(OutboundResponse(status: status, body: Array(body.utf8))) == isOurs)
    }

    @Test(arguments: [("", "s"), ("12a", "s"), ("1", ""), ("1", "a b")])
    func `non-digit ids and non-ASCII secrets are refused`(id: String, secret: String) {
        #expect(throws: HMSCredentialsError.self) { try HMSCredentials(appID: id, appSecret: secret) }
    }
}
