import BelfryService
import Testing

@Suite struct AcrobitsTokenTests {
    private static let hex = "51d97df57d8914fd5b5b04b9811ff019e2c4d6198007608ca6bd448f4c3192b6"

    @Test(arguments: [
        "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY=", "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY",
        "Udl99X2JFP1bWwS5gR_wGeLE1hmAB2CMpr1Ej0wxkrY=", hex, hex.uppercased(),
        "<51d97df5 7d8914fd 5b5b04b9 811ff019 e2c4d619 8007608c a6bd448f 4c3192b6>",
    ])
    func `every spelling of an APNs token is the same token`(text: String) throws {
        let token = try #require(AcrobitsToken(text))
        #expect(token.isApple)
        #expect(try token.deviceToken(for: .ios).bytes.hex == Self.hex)
    }

    @Test(arguments: [
        (
            "QVBBOTFiRzlhcVd2bW54bllCWldHOWh4dnRrZ3pUWFNvcGZpdWZ6bWM2dFAzS2J",
            "APA91bG9aqWvmnxnYBZWG9hxvtkgzTXSopfiufzmc6tP3Kb"
        ),
        ("cB3k_x-Yz:APA91bHPRg", "cB3k_x-Yz:APA91bHPRg"),
    ])
    func `an FCM token is read as text or Base64`(text: String, meant: String) throws {
        let token = try #require(AcrobitsToken(text))
        #expect(!token.isApple && token.text == text)
        #expect(try token.deviceToken(for: .androidFCM).bytes == Array(meant.utf8))
    }

    @Test(arguments: ["", "a\u{7F}b", "größe", String(repeating: "a", count: 5_000)])
    func `a token no provider issues is refused`(text: String) {
        #expect(AcrobitsToken(text) == nil)
    }
}
