import Testing

@testable import FCM
@testable import HTTP2Client

@Suite struct FCMAnswerTests {
    private static func rejection(_ status: Int, _ body: String) -> FCMRejection? {
        guard case .rejected(let rejection) = FCMAnswer(status: status, body: Array(body.utf8)[...]) else { return nil }
        return rejection
    }

    /// An error body by the documentation: Firebase, "Error codes for the HTTP v1 API"; Google APIs, `google.rpc`.
    private static func responseBody(_ status: Int, _ name: String, _ details: String = "[]", message: String = "m")
        -> String
    {
        #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(name)","details":\#(details)}}"#
    }

    private static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static let violation =
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"d"}]}"#

    @Test func `a page with 200 is no acceptance`() {
        let page = Array("\n<!DOCTYPE html><title>Log in to this network</title>".utf8)
        guard case .rejected(let rejection) = FCMAnswer(status: 200, body: page[...]) else {
            Issue.record("nobody took the message")
            return
        }
        #expect(rejection.code == .unavailable && rejection.words == "not an answer of FCM")
    }

    @Test func `an accepted message has a name`() {
        let body = #"{"name":"projects/p/messages/0:1500415314455276%31bd1c9631bd1c96"}"#
        guard case .accepted(let receipt) = FCMAnswer(status: 200, body: Array(body.utf8)[...]) else {
            Issue.record("200 is accepted")
            return
        }
        #expect(receipt.name == "projects/p/messages/0:1500415314455276%31bd1c9631bd1c96")
        #expect(FCMReceipt(body: []).name == nil)
    }

    @Test(arguments: [
        (404, responseBody(404, "NOT_FOUND", "[\(fcm("UNREGISTERED"))]"), FCMErrorCode.unregistered),
        (404, responseBody(404, "NOT_FOUND"), .notFound),
        (400, responseBody(400, "INVALID_ARGUMENT", "[\(violation),\(fcm("INVALID_ARGUMENT"))]"), .invalidArgument),
        (403, responseBody(403, "PERMISSION_DENIED", "[\(fcm("SENDER_ID_MISMATCH"))]"), .senderIDMismatch),
        (403, responseBody(403, "PERMISSION_DENIED"), .permissionDenied),
        (401, responseBody(401, "UNAUTHENTICATED"), .unauthenticated),
        (401, responseBody(401, "UNAUTHENTICATED", "[{},\(fcm("THIRD_PARTY_AUTH_ERROR"))]"), .thirdPartyAuthError),
        (429, responseBody(429, "RESOURCE_EXHAUSTED", "[\(fcm("QUOTA_EXCEEDED"))]"), .quotaExceeded),
        (500, responseBody(500, "INTERNAL", "[\(fcm("INTERNAL"))]"), .internal),
        (503, responseBody(503, "UNAVAILABLE", "[\(fcm("UNAVAILABLE"))]"), .unavailable),
        (502, "<html>try again in 30 seconds", .unavailable), (500, "", .internal), (404, "<html>", .notFound),
        (418, "{}", .unstated), (400, responseBody(400, "NEW_WORD"), FCMErrorCode("NEW_WORD")),
        (400, responseBody(400, "a b"), .invalidArgument),
        (404, #"{"error":{"status":"NOT_FOUND","details":"none"}}"#, .notFound),
        (404, #"{"error":{"status":5,"details":[7,{"errorCode":null},{"errorCode":"UNREGISTERED"}]}}"#, .unregistered),
        (503, #"{"error":[]}"#, .unavailable), (503, #"[{"error":{}}]"#, .unavailable),
    ])
    func `the code is FcmError's, or the status's, or HTTP's`(status: Int, body: String, code: FCMErrorCode) {
        #expect(Self.rejection(status, body)?.code == code)
    }

    @Test func `a 400 concerns the token only where it says so`() {
        let details = "[\(Self.fcm("INVALID_ARGUMENT")),\(Self.violation)]"
        #expect(Self.rejection(400, Self.responseBody(400, "INVALID_ARGUMENT", details))?.isAboutToken == true)
        let words = "The registration token is not a valid FCM registration token"
        #expect(Self.rejection(400, Self.responseBody(400, "INVALID_ARGUMENT", message: words))?.isAboutToken == true)
        #expect(Self.rejection(400, Self.responseBody(400, "INVALID_ARGUMENT"))?.isAboutToken == false)
        let other = Self.violation.replacing("message.token", with: "message.data[0].value")
        #expect(Self.rejection(400, Self.responseBody(400, "INVALID_ARGUMENT", "[\(other)]"))?.isAboutToken == false)
        #expect(Self.rejection(404, Self.responseBody(404, "NOT_FOUND", "[\(Self.violation)]"))?.isAboutToken == false)
    }

    @Test func `a long message is cut short`() {
        let long = Self.responseBody(400, "X", message: String(repeating: "x", count: 5_000))
        #expect(Self.rejection(400, long)?.message.count == 300)
    }

    @Test func `only our own 401 concerns our token`() {
        let ours = FCMAnswer(status: 401, body: Array(Self.responseBody(401, "UNAUTHENTICATED").utf8)[...])
        #expect(ours.isUnauthenticated)
        let theirs = Self.responseBody(401, "UNAUTHENTICATED", "[\(Self.fcm("THIRD_PARTY_AUTH_ERROR"))]")
        #expect(!FCMAnswer(status: 401, body: Array(theirs.utf8)[...]).isUnauthenticated)
    }
}
