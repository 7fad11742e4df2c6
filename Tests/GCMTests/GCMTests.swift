import Foundation
import NIOHTTP1
import Outbound
import Testing

@testable import GCM

@Suite struct GCMTests {
    private static func answers(_ status: Int, _ body: String, count: Int = 1) -> [GCMAnswer] {
        GCMAnswer.answers(
            .response(OutboundResponse(status: status, headers: ["Retry-After": "7"], body: Array(body.utf8))),
            count: count)
    }

    @Test func `a request names all its devices around what they share`() throws {
        let message = try GCMMessage(
            data: ["a": "1"], collapseKey: "k", timeToLive: 60, isHighPriority: true, isDryRun: true)
        let tokens = ["t1", "t\"2"].map { Array($0.utf8) }
        #expect(
            String(decoding: message.body(for: tokens), as: UTF8.self)
                == #"{"registration_ids":["t1","t\"2"],"collapse_key":"k","data":{"a":"1"},"dry_run":true,"#
                + #""priority":"high","time_to_live":60}"#)
        let empty = try GCMMessage(data: [:])
        #expect(String(decoding: empty.body(for: tokens[..<1]), as: UTF8.self) == #"{"registration_ids":["t1"]}"#)
    }

    /// The example of the legacy HTTP reference, with each kind of result.
    @Test func `each device has its result, in order`() {
        let body = """
            {"multicast_id":216,"success":3,"failure":3,"canonical_ids":1,"results":[
            {"message_id":"1:0408"},{"error":"Unavailable"},{"error":"InvalidRegistration"},{"message_id":"1:1516"},
            {"message_id":"1:2342","registration_id":"32"},{"error":"NotRegistered"}]}
            """
        #expect(
            Self.answers(200, body, count: 6) == [
                .accepted(messageID: "1:0408", canonical: nil), .rejected(.unavailable, retryAfter: .seconds(7)),
                .rejected(.invalidRegistration, retryAfter: .seconds(7)),
                .accepted(messageID: "1:1516", canonical: nil), .accepted(messageID: "1:2342", canonical: "32"),
                .rejected(.notRegistered, retryAfter: .seconds(7)),
            ])
    }

    @Test(arguments: [
        "", "id=1:08", "{}", #"{"results":[]}"#, #"{"results":[{"message_id":"1"},{"message_id":"2"}]}"#,
        #"{"results":{}}"#,
    ])
    func `a 200 that cannot be understood may have been delivered`(body: String) {
        guard case .unknown? = Self.answers(200, body).first else {
            Issue.record("\(body) was understood")
            return
        }
    }

    @Test(arguments: [
        ("{}", GCMError.unstated), (#"{"error":3}"#, .unstated), (#"{"error":"a b"}"#, .unstated), ("7", .unstated),
        (#"{"error":"New"}"#, GCMError("New")), (#"{"message_id":5,"error":"MessageTooBig"}"#, .messageTooBig),
    ])
    func `a result without a message is an error`(result: String, error: GCMError) {
        #expect(Self.answers(200, #"{"results":[\#(result)]}"#) == [.rejected(error, retryAfter: .seconds(7))])
    }

    @Test func `a refused request is one for all its devices`() {
        #expect(
            Self.answers(401, "<html>", count: 2)
                == Array(repeating: .refused(status: 401, retryAfter: .seconds(7)), count: 2))
    }

    @Test func `a message the service would refuse is refused`() throws {
        #expect(throws: GCMMessageError.reservedKey("from")) { try GCMMessage(data: ["from": "x"]) }
        #expect(throws: GCMMessageError.timeToLive(2_419_201)) { try GCMMessage(data: [:], timeToLive: 2_419_201) }
        #expect(throws: GCMMessageError.tooLarge(bytes: 4_097)) {
            try GCMMessage(data: ["k": String(repeating: "x", count: 4_096)])
        }
    }
}
