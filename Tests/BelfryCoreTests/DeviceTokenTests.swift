import BelfryCore
import Testing

@Suite struct DeviceTokenTests {
    @Test func `both spellings of an APNs token are one`() throws {
        #expect(try DeviceToken("00FFab1C", for: .ios) == DeviceToken("00ffAB1c", for: .ios))
        #expect(try DeviceToken("00FFab1C", for: .ios).text(for: .ios) == "00ffab1c")
        #expect(try DeviceToken("00FFab1C", for: .ios).bytes == [0x00, 0xFF, 0xAB, 0x1C])
    }

    @Test(arguments: ["abc", "zz", "0x", "ab cd", "<abcd>", "ａｂ", "ab\n", "/0", ":0", "@0", "G0", "`0", "g0"])
    func `an APNs token of anything but pairs of hex digits is refused`(text: String) {
        #expect(
            throws: InvalidInput(
                field: "registration_token", "is no APNs token: it has to be an even number of hex digits")
        ) {
            try DeviceToken(text, for: .ios)
        }
    }

    @Test func `an APNs token may be longer than 32 bytes, up to a limit`() throws {
        #expect(try DeviceToken(String(repeating: "a", count: 200), for: .ios).bytes.count == 100)
        #expect(throws: InvalidInput(field: "registration_token", "is 101 bytes, the limit is 100")) {
            try DeviceToken(String(repeating: "a", count: 202), for: .ios)
        }
    }

    @Test(arguments: PlatformKind.allCases) func `an empty token is refused`(kind: PlatformKind) {
        #expect(throws: InvalidInput(field: "registration_token", "is empty")) { try DeviceToken("", for: kind) }
    }

    @Test(arguments: PlatformKind.allCases.filter { $0 != .ios })
    func `other tokens are kept as they came, up to a limit`(kind: PlatformKind) throws {
        #expect(try DeviceToken("dXyZ:APA91b_ü", for: kind).text(for: kind) == "dXyZ:APA91b_ü")
        #expect(try DeviceToken(String(repeating: "x", count: 2_048), for: kind).bytes.count == 2_048)
        #expect(throws: InvalidInput(field: "registration_token", "is 2049 bytes, the limit is 2048")) {
            try DeviceToken(String(repeating: "x", count: 2_049), for: kind)
        }
    }
}
