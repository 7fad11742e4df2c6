import Testing

@testable import APNs

@Suite struct APNsAnswerTests {
    private func rejection(_ status: Int, _ body: String) -> APNsRejection? {
        if case .rejected(let rejection) = APNsAnswer(status: status, body: Array(body.utf8).span) {
            rejection
        } else {
            nil
        }
    }

    @Test func `200 is accepted whatever the body says`() {
        let id = APNsID(high: 1, low: 2)
        let answer = APNsAnswer(status: 200, body: Array("{}".utf8).span, id: id, uniqueID: "u")
        #expect(answer == .accepted(id: id, uniqueID: "u"))
    }

    @Test(
        arguments: [
            (#"{"reason":"Unregistered","timestamp":1748000000123}"#, "Unregistered", 1_748_000_000_123),
            (#"{"timestamp":"1748000000123","reason":"ExpiredToken"}"#, "ExpiredToken", 1_748_000_000_123),
            (" { \"reason\" : \"New\" ,\n\"timestamp\" : 1.5e3 } ", "New", 1),
            (#"{"a":{"reason":"No","b":[1,"}"]},"c":null,"reason":"Yes"}"#, "Yes", nil),
            (#"{"reason":"BadTopic","timestamp":99999999999999999999}"#, "BadTopic", nil),
            (#"{"reason":"BadTopic","timestamp":-5}"#, "BadTopic", nil),
            (#"{"reason":"BadTopic","timestamp":null"#, "BadTopic", nil),
            (#"{"reason":"BadTopic"#, "Unstated", nil),
            (#"{"reason":12}"#, "Unstated", nil),
            (#"{"reason":"a b"}"#, "Unstated", nil),
            (#"{"reason":""}"#, "Unstated", nil),
            (#"[{"reason":"x"}]"#, "Unstated", nil),
            ("<html>", "Unstated", nil), ("", "Unstated", nil), ("{", "Unstated", nil), ("{\"", "Unstated", nil),
            ("{\"reason\":\"\\", "Unstated", nil), ("{\"reason\":", "Unstated", nil),
        ] as [(String, String, Int64?)])
    func `an answer's body is read as far as possible`(body: String, reason: String, timestamp: Int64?) {
        let rejection = rejection(410, body)
        #expect(rejection?.reason.code == reason)
        #expect(rejection?.timestamp == timestamp)
    }

    @Test(arguments: [
        (403, APNsReason.forbidden), (404, .badPath), (405, .methodNotAllowed), (413, .payloadTooLarge),
        (429, .tooManyRequests), (500, .internalServerError), (503, .serviceUnavailable), (400, .unstated),
        (418, .unstated), (301, .unstated),
    ])
    func `without a reason the status decides`(status: Int, reason: APNsReason) {
        #expect(rejection(status, "")?.reason == reason)
    }

    @Test func `no bytes make the reader fail`() {
        var random = SplitMix(state: 7)
        let seed = Array(#"{"reason":"Unregistered","timestamp":"1748000000123","a":[{"b":"\"}"}]}"#.utf8)
        for _ in 0..<2_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 0...6, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.removeLast(bytes.count - index)
                }
            }
            _ = APNsAnswer(status: 410, body: bytes.span)
        }
    }

    @Test func `deep nesting costs no stack`() {
        let body = "{\"a\":" + String(repeating: "[", count: 100_000)
        #expect(rejection(400, body)?.reason == .unstated)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
