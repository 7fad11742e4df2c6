import BelfryKit
import Foundation
import Testing

@Suite struct RetractionTests {
    private func userInfo(_ json: String) throws -> [AnyHashable: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test func `a retraction names the notification to remove`() throws {
        let payload = try userInfo(
            #"{"aps":{"content-available":1},"belfry":{"retract":"game-7"},"receiptId":"r"}"#)
        #expect(PushRetraction(payload)?.identifier == "game-7")
    }

    @Test(arguments: [
        #"{"aps":{"alert":"Hi"},"receiptId":"r"}"#, #"{"belfry":"x"}"#, #"{"belfry":{}}"#,
        #"{"belfry":{"retract":7}}"#, #"{"belfry":{"retract":""}}"#,
    ])
    func `any other push is none`(json: String) throws {
        #expect(PushRetraction(try userInfo(json)) == nil)
    }
}
