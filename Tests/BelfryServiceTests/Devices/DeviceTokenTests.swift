import BelfryService
import Testing

@Suite struct DeviceTokenTests {
    @Test func `both spellings of an APNs token are one`() throws {
        #expect(try DeviceToken("00FFab1C", for: .ios) == DeviceToken("00ffAB1c", for: .ios))
        #expect(try DeviceToken("00FFab1C", for: .ios).text(for: .ios) == "00ffab1c")
        #expect(try DeviceToken("00FFab1C", for: .ios).bytes == [0x00, 0xFF, 0xAB, 0x1C])
    }

    @Test(arguments: ["abc", "zz", "0x", "ab cd", "<abcd>", "ａｂ", "ab\n", "/0", ":0", "@0", "G0", "`0", "g0"])
    func `an APNs token with non-hex characters is refused`(text: String) throws {
        let refusal = try #require(throws: InvalidInput.self) { try DeviceToken(text, for: .ios) }
        #expect(refusal.field == "registration_token" && refusal.problem.hasPrefix("is not an APNs token: "))
        #expect(!refusal.problem.contains(text), "a token is never repeated")
    }

    @Test(arguments: [
        ("<abcd ef01>", "it has < > or spaces around its digits, as iOS prints a token; "),
        ("abc", "it has 3 hex digits, so one is missing or too many; "),
        ("abxy01", "2 of its 6 characters are no hex digits; "),
    ])
    func `a wrong APNs token names its fault`(text: String, words: String) throws {
        let refusal = try #require(throws: InvalidInput.self) { try DeviceToken(text, for: .ios) }
        #expect(refusal.problem.hasPrefix("is not an APNs token: \(words)"), "\(refusal)")
    }

    @Test func `an APNs token may exceed 32 bytes, within a limit`() throws {
        #expect(try DeviceToken(String(repeating: "a", count: 200), for: .ios).bytes.count == 100)
        #expect(throws: InvalidInput(field: "registration_token", "is 101 bytes, the limit is 100")) {
            try DeviceToken(String(repeating: "a", count: 202), for: .ios)
        }
    }

    @Test(arguments: PlatformKind.allCases) func `an empty token is refused`(kind: PlatformKind) {
        #expect(throws: InvalidInput(field: "registration_token", "is empty")) { try DeviceToken("", for: kind) }
    }

    @Test(arguments: [
        (PlatformKind.android, 4_096), (.androidFCM, 4_096), (.androidBaidu, 4_096), (.huawei, 4_096), (.amazon, 4_096),
        (.bb10, 4_096), (.apple(.broadcast), 255),
    ])
    func `other tokens are kept unchanged, up to a limit`(kind: PlatformKind, limit: Int) throws {
        #expect(try DeviceToken("dXyZ:APA91b_-~", for: kind).text(for: kind) == "dXyZ:APA91b_-~")
        #expect(try DeviceToken(String(repeating: "x", count: limit), for: kind).bytes.count == limit)
        #expect(throws: InvalidInput(field: "registration_token", "is \(limit + 1) bytes, the limit is \(limit)")) {
            try DeviceToken(String(repeating: "x", count: limit + 1), for: kind)
        }
        for text in ["a b", "ü", "a\n", "\u{7F}"] {
            #expect(throws: InvalidInput.self) { try DeviceToken(text, for: kind) }
        }
    }

    @Test(arguments: [
        (PlatformKind.windows8, "https://db3.notify.windows.com/?token=AgY", true), (.windows8, "http://x/", false),
        (.windowsPhone, "http://sn1.notify.live.net/throttledthirdparty/01.00/AAF", true),
        (.windowsPhone, "https://x/", true), (.windowsPhone, "ftp://x", false), (.windows8, "https://", false),
        (.windows8, "https://a b/", false), (.webhook, "Kim's phöne", true), (.webhook, "a\tb", false),
    ])
    func `a channel is a URI, a webhook device free text`(kind: PlatformKind, text: String, isTaken: Bool) {
        #expect(((try? DeviceToken(text, for: kind)) != nil) == isTaken)
    }

    // The keys of the example in RFC 8291, Appendix A.
    private static let p256dh =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

    private static func subscription(
        _ endpoint: String = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4", p256dh: String = p256dh,
        auth: String = auth
    ) -> String {
        #"{"endpoint":"\#(endpoint)","keys":{"auth":"\#(auth)","p256dh":"\#(p256dh)"}}"#
    }

    @Test func `all spellings of a Web Push subscription are one`() throws {
        let token = try DeviceToken(Self.subscription(), for: .web)
        #expect(token.text(for: .web) == Self.subscription())
        let padded = Self.p256dh.replacing("-", with: "+").replacing("_", with: "/") + "="
        let other = """
            { "expirationTime": null, "keys": {"p256dh": "\(padded)", "auth": "\(Self.auth)==", "x": 1},
              "endpoint": "https:\\/\\/push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4" }
            """
        #expect(try DeviceToken(other, for: .web) == token)
        let read = try WebSubscription(json: token.bytes)
        #expect(read.p256dh.count == 65 && read.auth.count == 16)
    }

    @Test(arguments: [
        "abc", "[]", "{}", "{", subscription("http://push.example.net/"), subscription("https://"),
        subscription("https://a b/"), subscription(p256dh: auth), subscription(auth: p256dh), subscription(auth: "*"),
        subscription("https://x/" + String(repeating: "x", count: 2_039)),
        subscription(p256dh: "A" + p256dh.dropFirst()),
    ])
    func `an invalid Web Push subscription is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try DeviceToken(text, for: .web) }
    }

    @Test(arguments: [
        "https://permanently-removed.invalid/fcm/send/x", "https://Permanently-Removed.INVALID.:443/x",
        "https://invalid/",
        "https://abcdef.onion/x", "https://push.example/x", "https://wns.alt/x",
    ])
    func `an endpoint that leads nowhere is refused with words`(endpoint: String) throws {
        let fault = try #require(throws: InvalidInput.self) { try DeviceToken(Self.subscription(endpoint), for: .web) }
        #expect(fault.field == "registration_token.endpoint" && fault.problem.contains("can never be reached"))
    }

    @Test(arguments: [
        "printer.local", "localhost", "push.example.org", "invalid.org", "192.0.2.1", "push.invalid.example.com", "",
    ])
    func `other names may lead somewhere`(host: String) { #expect(!SpecialUseHost.leadsNowhere(host)) }

    @Test(arguments: [
        "None", "none", "undefined:undefined", "false", "TRUE", "0", "N/A", "unknown", "TOKEN", "#N/A", "#REF!",
        "#NAME?", "-",
        "nan", "1.23457E+15", "1e+3", "null:null", "BLACKLISTED",
    ])
    func `every platform refuses a placeholder instead of a token`(text: String) throws {
        for kind in PlatformKind.allCases where kind != .web {
            let fault = #expect(throws: InvalidInput.self, "\(kind)") { try DeviceToken(text, for: kind) }
            let isSaid =
                fault?.problem.contains("no token") == true || fault?.problem.contains("in place of a token") == true
            #expect(isSaid || kind == .windows8 || kind == .windowsPhone, "\(kind): \(fault as Any)")
            #expect(throws: InvalidInput.self) { try DeviceToken(anySpelling: text, for: kind) }
        }
    }

    @Test(arguments: [
        "Optional(\"fEk9VyTYRuq8:APA91b\")", "\"fEk9VyTYRuq8:APA91b\"", "'fEk9VyTYRuq8'", "{{token}}", "${token}",
        "<token>",
        "[object Object]", "a,b", "1,23457E+15",
    ])
    func `a token with wrapping is refused`(text: String) {
        for kind in [PlatformKind.android, .androidFCM, .androidBaidu, .huawei, .amazon, .bb10] {
            #expect(throws: InvalidInput.self) { try DeviceToken(text, for: kind) }
        }
    }

    @Test(arguments: [
        (PlatformKind.bb10, "1234e567"), (.androidBaidu, "4505461103403521411"),
        (.amazon, "amzn1.adm-registration.v3.Y29t!x+/="),
        (.androidFCM, "none:APA91bHun4MxP5egoKMwt2KZ"),
    ])
    func `a token resembling a number or word is accepted`(kind: PlatformKind, text: String) throws {
        #expect(try DeviceToken(text, for: kind).text(for: kind) == text)
    }
}
