import BelfryService
import Testing

@Suite struct TokenSpellingTests {
    /// The token of the wire documents, in all spellings there are.
    private static let bytes: [UInt8] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01, 0x23,
        0x45,
        0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10,
    ]

    @Test(arguments: [
        "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210",
        "00112233445566778899AABBCCDDEEFF0123456789ABCDEFFEDCBA9876543210",
        "<00112233 44556677 8899aabb ccddeeff 01234567 89abcdef fedcba98 76543210>",
        "00112233 44556677 8899aabb ccddeeff 01234567 89abcdef fedcba98 76543210",
        "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA=", "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA",
        "ABEiM0RVZneImaq7zN3u_wEjRWeJq83v_ty6mHZUMhA=", "ABEiM0RVZneImaq7zN3u_wEjRWeJq83v_ty6mHZUMhA",
    ])
    func `a token of Apple is the same in every spelling`(text: String) throws {
        #expect(try DeviceToken(anySpelling: text, for: .ios).bytes == Self.bytes)
    }

    @Test(arguments: ["", "<>", "ABEi", "zz", "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA=x"])
    func `a malformed Apple token is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try DeviceToken(anySpelling: text, for: .ios) }
    }

    @Test func `a token of another provider is what it is`() throws {
        let text = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
        #expect(try DeviceToken(anySpelling: text, for: .androidFCM).bytes == Array(text.utf8))
        #expect(throws: InvalidInput.self) { try DeviceToken(anySpelling: "<ab cd>", for: .androidFCM) }
    }
}
