import BelfryService
import Testing

@Suite struct OneTimeCodeTests {
    private static let secret = Array("12345678901234567890".utf8)

    /// Source: RFC 6238, appendix B, the last six of its eight digits.
    @Test(arguments: [
        (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
        (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ])
    func `codes are those of the standard`(seconds: Int64, code: String) {
        let step = OneTimeCode.step(at: Instant(milliseconds: seconds * 1_000))
        #expect(OneTimeCode.code(of: Self.secret, at: step, SecretHash.authentication) == code)
    }

    @Test(arguments: [(-2, false), (-1, true), (0, true), (1, true), (2, false)])
    func `a code one step early or late is accepted`(offset: Int64, isTaken: Bool) {
        let now = Instant(milliseconds: 1_800_000_000_000)
        let step = OneTimeCode.step(at: now) + offset
        let code = OneTimeCode.code(of: Self.secret, at: step, SecretHash.authentication)
        let found = OneTimeCode.step(ofCode: code, by: Self.secret, at: now, after: 0, SecretHash.authentication)
        #expect(found == (isTaken ? step : nil))
    }

    @Test func `a used code and all earlier ones are void`() {
        let now = Instant(milliseconds: 1_800_000_000_000)
        let step = OneTimeCode.step(at: now)
        for (offset, isTaken) in [(Int64(-1), false), (0, false), (1, true)] {
            let code = OneTimeCode.code(of: Self.secret, at: step + offset, SecretHash.authentication)
            let found = OneTimeCode.step(
                ofCode: code, by: Self.secret, at: now, after: step, SecretHash.authentication)
            #expect((found != nil) == isTaken)
        }
    }

    @Test(arguments: ["", "12345", "1234567", "abcdef", "28 70 82 ", String(repeating: "0", count: 5_000)])
    func `a typed code is compared whole, ignoring spaces`(typed: String) {
        let found = OneTimeCode.step(
            ofCode: typed, by: Self.secret, at: Instant(milliseconds: 59_000), after: 0, SecretHash.authentication)
        #expect(found == (typed == "28 70 82 " ? 1 : nil))
    }

    @Test func `a secret is typed into an app as Base32`() {
        #expect(OneTimeCode.base32(Self.secret) == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        #expect(OneTimeCode.secret(base32: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ") == Self.secret)
        #expect(OneTimeCode.secret(base32: "GEZDGNBVGY3TQOJQ") == nil, "too short")
        #expect(OneTimeCode.secret(base32: "gezdgnbvgy3tqojqgezdgnbvgy3tqoj1") == nil)
        #expect(OneTimeCode.base32([0xFF]) == "74")
    }

    @Test func `a recovery code is known by its letters`() throws {
        var random = SystemRandomNumberGenerator()
        let code = RecoveryCode.random(using: &random)
        #expect(code.text.utf8.count == 11)
        #expect(RecoveryCode(typed: code.text) == code)
        #expect(RecoveryCode(typed: " " + code.text.uppercased().replacing("-", with: " ")) == code)
        for typed in ["", "123456", code.text + "a", code.text.replacing("-", with: "!"), "abcde-fghi0"] {
            #expect(RecoveryCode(typed: typed) == nil)
        }
    }
}
