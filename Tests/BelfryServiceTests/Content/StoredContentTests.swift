import BelfryService
import FoundationEssentials
import Testing

/// Acceptance judges what will be stored, and reading judges nothing again.
@Suite struct StoredContentTests {
    private static func content(own value: JSONValue) -> Push.Content {
        Push.Content(body: "b", custom: ["own": value])
    }

    private static func check(_ content: Push.Content) throws {
        try content.check(for: [.webhook], receiptID: UUID())
    }

    @Test func `content up to the limit is accepted for every platform`() throws {
        let empty = Self.content(own: .string("")).storedText.utf8.count
        let room = PushLimits.contentBytesMax - empty
        try Self.check(Self.content(own: .string(String(repeating: "x", count: room))))
        let error = #expect(throws: InvalidInput.self) {
            try Self.check(Self.content(own: .string(String(repeating: "x", count: room + 1))))
        }
        #expect(error?.description == "message is 65537 bytes as it is stored, the limit is 65536")
    }

    @Test func `stored bytes count, not sent ones`() throws {
        // Strings of 6 bytes between their quotes as they were sent, and of 1 as they are stored.
        let spaced = "[" + Array(repeating: #""\u0061", "#, count: 10_000).joined() + "1]"
        #expect(spaced.utf8.count > PushLimits.contentBytesMax)
        try Self.check(Self.content(own: try JSONValue(json: spaced.utf8)))
    }

    @Test func `content nested deeper than readers go is refused`() throws {
        func nested(_ depth: Int) -> JSONValue { (0..<depth).reduce(.null) { inner, _ in .array([inner]) } }
        let deepest = Self.content(own: nested(62))
        try Self.check(deepest)
        #expect(try Push.Content(stored: Array(deepest.storedText.utf8)) == deepest)
        let error = #expect(throws: InvalidInput.self) { try Self.check(Self.content(own: nested(63))) }
        #expect(error?.description == "message is nested 65 levels deep as it is stored, the limit is 64")
    }

    @Test(arguments: [
        Push.Content(body: nil), Push.Content(body: ""), Push.Content(body: "ü\n\"", custom: ["ios": .object([:])]),
        Push.Content(body: "b", custom: ["own": .array([.number(1e18), .number(-0.0), .integer(.min), .null])]),
    ])
    func `content is read back as it was`(content: Push.Content) throws {
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
    }

    @Test func `a target is stored and read back unchanged`() throws {
        let devices = [UUID(words: 1, 2), UUID(words: 3, 4)]
        let targets = [
            Target.everyone, try Target(devices: devices), try Target(devices: []),
            try Target(
                topics: ["News", "b"], customUserIDs: ["Ann"], platforms: [.ios, .androidFCM], isInteractiveOnly: true),
        ]
        for target in targets { #expect(try Target(stored: Array(target.storedText.utf8)) == target) }
        #expect(targets[0].storedText == #"{"customUserIDs":[],"isInteractiveOnly":false,"topics":[]}"#)
        #expect(
            targets[3].storedText
                == #"{"customUserIDs":["Ann"],"isInteractiveOnly":true,"platforms":["ios","android-fcm"],"topics":["news","b"]}"#
        )
    }

    @Test(arguments: [
        "", "null", "[]", "{", #"{"devices":["x"]}"#, #"{"platforms":["toaster"]}"#, #"{"topics":"x"}"#,
    ])
    func `a target that makes no sense is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try Target(stored: Array(text.utf8)) }
    }

    @Test(arguments: ["", "null", "[]", "{", #"{"custom":[]}"#, #"{"apple":{"payload":{}}}"#, #"{"body":1}"#])
    func `content that makes no sense is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try Push.Content(stored: Array(text.utf8)) }
    }

    @Test func `accepted geofence data reads back, however numbers are spelt`() throws {
        let sent = "[" + Array(repeating: "1e18", count: 1_200).joined(separator: ",") + "]"
        let data = try GeofenceData(["own": try JSONValue(json: sent.utf8)])
        #expect(try GeofenceData(stored: Array(data.storedText.utf8)) == data)
        #expect(data.storedText.utf8.count <= GeofenceData.bytesMax)
        let more = "[" + Array(repeating: "1e18", count: 1_700).joined(separator: ",") + "]"
        let error = #expect(throws: InvalidInput.self) { try GeofenceData(["own": try JSONValue(json: more.utf8)]) }
        #expect(error?.description == "data is 8509 bytes as it is stored, the limit is 8192")
    }

    @Test func `geofence data from older rules is read unchanged`() throws {
        let old = #"{"android":{"n":[1]},"ios":{"alertBody":5}}"#
        #expect(throws: InvalidInput.self) {
            guard case .object(let parts) = try JSONValue(json: old.utf8) else { return }
            _ = try GeofenceData(parts)
        }
        #expect(try GeofenceData(stored: Array(old.utf8)).storedText == old)
    }
}
