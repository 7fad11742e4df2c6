import BelfryTesting
import FoundationEssentials
import Testing

@testable import BelfryService

/// Rules for the body of every request.
@Suite struct RequestParsingTests {
    @Test func `the last of duplicate keys counts`() throws {
        let request = try PCF.RegistrationRequest.parse(
            Array(#"{"registration_token":"a","registration_token":"b","tags":["x"],"tags":null}"#.utf8))
        #expect(request.registrationToken == RegistrationToken("b"))
        #expect(request.tags == nil)
    }

    @Test func `byte order marks are skipped and escaped keys read`() throws {
        let request = try PCF.RegistrationRequest.parse(
            [0xEF, 0xBB, 0xBF] + Array(#"{"\u006fs":"ios"}"#.utf8))
        #expect(request.about.os == "ios")
    }
}

/// Both bodies of the API, chewed on by a seeded mouse. A crash here is the failure; what is thrown does not matter.
@Suite struct ParseFuzzTests {
    static let corpus = [
        #"{"tags":["beta","alpha"],"device_alias":"My Phone","os":"android-fcm","registration_token":"t","custom_user_id":""}"#,
        #"{"tags":{"subscribe":["new"],"unsubscribe":["old"]},"registration_token":"\u00fc\ud83c\udf89","x":[1e9,{"y":null}]}"#,
        #"{"message":{"body":"b","custom":{"ios":{"alert":{"body":"x"},"badge":1},"android":{"k":[1,2.5e3,true]}}},"target":{"topics":["a"],"platforms":["ios"],"devices":["u"],"interactive-only":false,"platform":"all"},"scheduleAt":"1345852800000","scheduleIn":0,"expiryTime":null}"#,
    ].map { Array($0.utf8) }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `no input crashes a parser or changes its verdict`(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<Thoroughness.count(300, thorough: 2_000) {
            let bytes = Self.mutated(Self.corpus[Int(random.next() % 3)], &random)
            let registration = Result { try PCF.RegistrationRequest.parse(bytes) }
            let push = Result { try PCF.PushBody.parse(bytes) }
            if case .failure(let error) = registration { #expect(error is InvalidInput) }
            if case .failure(let error) = push { #expect(error is InvalidInput) }
            // Whatever we take, a second reader has to take too.
            if case .success = registration, !bytes.contains(0x5C) {
                #expect(throws: Never.self, "\(bytes)") {
                    _ = try JSONDecoder().decode([String: Unread].self, from: Data(bytes))
                }
            }
        }
    }

    /// Any JSON value.
    private struct Unread: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    static func mutated(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        var bytes = bytes
        for _ in 0...(random.next() % 4) where !bytes.isEmpty {
            let place = Int(random.next() % UInt64(bytes.count))
            switch random.next() % 6 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(Array(#"{}[]",:\0u-e."#.utf8)[Int(random.next() % 13)], at: place)
            case 3: bytes.removeLast(bytes.count - place)
            case 4: bytes.insert(contentsOf: bytes[place...], at: place)
            default: bytes[place] ^= 1 << UInt8(random.next() % 8)
            }
        }
        return bytes
    }

    struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
            return z ^ z >> 31
        }
    }
}
