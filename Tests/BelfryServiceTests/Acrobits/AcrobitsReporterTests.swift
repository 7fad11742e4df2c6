import BelfryTesting
import Crypto
import FoundationEssentials
import Testing

@testable import BelfryService

/// Requests of softphones to a reporter, byte by byte. Source: Acrobits, "Push Token Reporter", and the receivers that
/// docs/compatibility/acrobits.md lists.
@Suite struct AcrobitsReporterTests {
    private static let root = "/acrobits/\(SoftphoneServer.key)"
    private static let selector = SoftphoneServer.selector
    private static let json = "application/json"
    private static let form = "application/x-www-form-urlencoded"

    /// The guide's GET, as it stands there below the key.
    private static let guideGET = """
        GET \(root)/token/?username=johndow&password=12345678&selector=12869E0E6E553673C54F29105A0647204C416A2A:7C3A0D14&token_msgs=QVBBOTFiRzlhcVd2bW54bllCWldHOWh4dnRrZ3pUWFNvcGZpdWZ6bWM2dFAzS2J&appid_msgs=com.cloudsoftphone.app&token_calls=Udl99X2JFP1bWwS5gR%2FwGeLE1hmAB2CMpr1Ej0wxkrY%3D&appid_calls=com.cloudsoftphone.app.pushkit HTTP/1.1\r
        Host: example.com\r
        Connection: close\r
        Cache-Control: max-age=0\r
        User-Agent: CloudSoftphone/1.5.6\r
        \r

        """

    /// The guide's JSON, as it stands there; only its Content-Length is mended, which is that of another body.
    private static let guideJSON =
        #"{ "token_msgs" : "QVBBOTFiRzlhcVd2bW54bllCWldHOWh4dnRrZ3pUWFNvcGZpdWZ6bWM2dFAzS2J", "appid_msgs" : "com.cloudsoftphone.app", "token_calls" : "Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY=", "appid_calls" : "com.cloudsoftphone.app.pushkit", "selector" : "12869E0E6E553673C54F29105A0647204C416A2A:7C3A0D14" }"#

    private static func expectBoth(_ server: SoftphoneServer, _ name: String) async throws {
        #expect(try await server.tokens(.apple(.voip)) == [SoftphoneServer.callsTokenHex], "\(name)")
        #expect(try await server.tokens(.androidFCM) == [SoftphoneServer.otherTokenText], "\(name)")
        let found = try await server.store.acrobitsRegistrations(selector: selector, of: server.application.key)
        #expect(found.map(\.appID) == [SoftphoneServer.appID, SoftphoneServer.callsAppID], "\(name)")
        #expect(found.map(\.token) == [SoftphoneServer.otherToken, SoftphoneServer.callsToken], "\(name)")
        #expect(found.allSatisfy { $0.account == "johndow" }, "\(name)")
        #expect(try await server.devices(.androidFCM).map(\.customUserID) == ["johndow"], "\(name)")
    }

    @Test func `the guide's GET registers both tokens, with an empty answer`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(try await server.exchange(Self.guideGET))
            try await Self.expectBoth(server, "GET")
        }
    }

    @Test func `the guide's JSON registers both tokens for the account`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(
                try await server.exchange(
                    "POST \(Self.root)/token/johndow/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n"
                        + "Cache-Control: max-age=0\r\nUser-Agent: CloudSoftphone/1.5.6\r\n"
                        + "Content-Type: application/json\r\nContent-Length: \(Self.guideJSON.utf8.count)\r\n\r\n"
                        + Self.guideJSON))
            try await Self.expectBoth(server, "JSON")
        }
    }

    /// Bodies that say the same with other names.
    private static let bodies: [(name: String, path: String, type: String?, body: String)] = [
        (
            "the form of the guide", "/token/", nil,
            "username=johndow&selector=\(selector)&token_calls=Udl99X2JFP1bWwS5gR%2FwGeLE1hmAB2CMpr1Ej0wxkrY%3D&appid_calls=com.cloudsoftphone.app.pushkit&token_msgs=\(SoftphoneServer.otherToken)&appid_msgs=com.cloudsoftphone.app\r\n"
        ),
        (
            "the JSON template of the guide", "", json,
            #"{"username":"johndow","token_calls":"\#(SoftphoneServer.callsToken)","token_msgs":"\#(SoftphoneServer.otherToken)","selector":"\#(selector)","appId_calls":"com.cloudsoftphone.app.pushkit","appId_msgs":"com.cloudsoftphone.app"}"#
        ),
        (
            "matrix2acrobits", "/api/client/push_token_report", json,
            #"{"username":"johndow","password":"x","selector":"\#(selector)","token_msgs":"\#(SoftphoneServer.otherToken)","app_id_msgs":"com.cloudsoftphone.app","token_calls":"\#(SoftphoneServer.callsToken)","app_id_calls":"com.cloudsoftphone.app.pushkit"}"#
        ),
        (
            "the names of the placeholders", "/v1/acrobits/push-token?username=johndow", form,
            "password=x&selector=\(selector)&pushTokenIncomingCall=Udl99X2JFP1bWwS5gR/wGeLE1hmAB2CMpr1Ej0wxkrY=&pushTokenOther=\(SoftphoneServer.otherToken)&pushappid_incoming_call=com.cloudsoftphone.app.pushkit&pushappid_other=com.cloudsoftphone.app&device_id=7&platform=ios"
        ),
    ]

    @Test(arguments: bodies.indices)
    func `other names for the same values are understood`(index: Int) async throws {
        let body = Self.bodies[index]
        try await SoftphoneServer.with { server in
            expectSilence(try await server.post(Self.root + body.path, body.type, body.body))
            try await Self.expectBoth(server, body.name)
        }
    }

    private static let oneTokenPaths = [
        "/?username=johndow&selector=\(selector)&token=\(SoftphoneServer.otherToken)&appid=com.cloudsoftphone.app",
        "/pushToken/johndow/\(selector)/\(SoftphoneServer.otherToken)&appid=com.cloudsoftphone.app",
        "/report/johndow/\(SoftphoneServer.otherToken)/com.cloudsoftphone.app",
        "/sms/device/johndow/\(selector)/\(SoftphoneServer.otherToken)/com.cloudsoftphone.app",
        "/push_register.php?token=secret&account=johndow&selector=\(selector)&push_token=\(SoftphoneServer.otherToken)&push_appid=com.cloudsoftphone.app",
        "/pushToken/johndow/\(selector.replacing(":", with: "%3a"))/\(SoftphoneServer.otherToken)&appid=com.cloudsoftphone.app",
    ]

    @Test(arguments: oneTokenPaths, ["GET", "HEAD", "PUT", "DELETE"])
    func `a single token is reported in query or path`(
        path: String, method: String
    ) async throws {
        try await SoftphoneServer.with { server in
            let body = method == "PUT" ? "Content-Length: 0\r\n" : ""
            expectSilence(try await server.get(Self.root + path, method: method, body))
            #expect(try await server.tokens(.androidFCM) == [SoftphoneServer.otherTokenText], "\(path)")
            #expect(try await server.devices(.androidFCM).map(\.customUserID) == ["johndow"], "\(path)")
        }
    }

    @Test func `a plain-text body beside a query is ignored`() async throws {
        try await SoftphoneServer.with { server in
            let path =
                "/report?token=\(SoftphoneServer.otherToken)&appid=com.cloudsoftphone.app&selector=\(Self.selector)"
            expectSilence(try await server.post(Self.root + path, "text/plain", "token=x&appid=y"))
            #expect(try await server.tokens(.androidFCM) == [SoftphoneServer.otherTokenText])
        }
    }

    @Test(arguments: ["", "null", "(null)", "NULL", "%pushTokenOther%"])
    func `a token that says nothing changes nothing`(word: String) async throws {
        try await SoftphoneServer.with { server in
            expectSilence(try await server.exchange(Self.guideGET))
            let encoded = word.replacing("%", with: "%25")
            expectSilence(
                try await server.get(
                    "\(Self.root)/?username=johndow&selector=\(Self.selector)&token_msgs=\(encoded)&appid_msgs=com.cloudsoftphone.app&token_calls=\(encoded)"
                ))
            expectSilence(try await server.post(Self.root, Self.json, #"{"token_msgs":null,"selector":"x"}"#))
            try await Self.expectBoth(server, word)
        }
    }

    @Test func `a value that no database keeps is left out`() {
        let request = Acrobits.ReportRequest(query: "username=a%00&selector=%00")
        #expect(AcrobitsReport(request) == AcrobitsReport())
    }

    private static let emptyPlaces: [(template: String?, path: String)] = [
        (nil, "/sms/device/johndow/\(selector)//com.cloudsoftphone.app"),
        (nil, "/push/register?username=johndow&selector=\(selector)&token_msgs=&appid_msgs=com.cloudsoftphone.app"),
        (
            nil,
            "/reporter.php?selector=\(selector)&token_msgs=\(SoftphoneServer.otherToken)&appid_msgs=com.cloudsoftphone.app"
        ),
        (
            "/hello/%account[username]%/%pushToken%/%pushappid%",
            "/hello/johndow//com.cloudsoftphone.app?selector=\(selector)"
        ),
        (
            "/hello/%pushToken%/%account[username]%",
            "/report/kim/\(String(repeating: "ab", count: 32))/com.cloudsoftphone.app"
        ),
    ]

    @Test(arguments: emptyPlaces.indices)
    func `nothing is read from where no value stands`(index: Int) async throws {
        let (template, path) = Self.emptyPlaces[index]
        try await SoftphoneServer.with(template: template) { server in
            expectSilence(try await server.exchange(Self.guideGET))
            expectSilence(try await server.get(Self.root + path))
            try await Self.expectBoth(server, path)
            #expect(try await server.store.allDevices().count == 2)
        }
    }

    @Test(arguments: ["", "{", "{}", "[1]", #"{"a":{"b":1}}"#, "%%%", "=&=&", "\u{0}"])
    func `an odd report is answered normally, so nobody repeats it`(body: String) async throws {
        try await SoftphoneServer.with { server in
            for type in [Self.json, Self.form, nil] {
                expectSilence(try await server.post(Self.root, type, body))
            }
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `an unknown app id registers nothing and is no error`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(
                try await server.get("\(Self.root)/?token=\(SoftphoneServer.otherToken)&appid=org.example.unknown"))
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `blanks in a token are read as plus signs`() async throws {
        let bytes = [UInt8](repeating: 0xFB, count: 32)
        let token = Data(bytes).base64EncodedString()
        #expect(token.contains("+"))
        try await SoftphoneServer.with { server in
            let spoilt = token.replacing("+", with: "%20")
            expectSilence(
                try await server.get("\(Self.root)/?token_calls=\(spoilt)&appid_calls=\(SoftphoneServer.callsAppID)"))
            #expect(try await server.tokens(.apple(.voip)) == [bytes.hex])
        }
    }

    @Test func `a path is read by the operator's template`() async throws {
        let template = """
            https://example.org/acrobits/KEY/hello/%installid%/%account[username]%-x/%selector%/t-%pushToken%&who=%pushappid%?pw=%sha1(%account[password]%)%
            {"k1": "%pushTokenIncomingCall%", "k2": "%pushappid_incoming_call%", "k3": "fixed"}
            """
        try await SoftphoneServer.with(template: template) { server in
            expectSilence(
                try await server.post(
                    "\(Self.root)/hello/77/johndow-x/\(Self.selector)/t-\(SoftphoneServer.otherToken)&who=com.cloudsoftphone.app?pw=00",
                    Self.json,
                    #"{"k1":"\#(SoftphoneServer.callsToken)","k2":"com.cloudsoftphone.app.pushkit","k3":"fixed"}"#))
            try await Self.expectBoth(server, "template")
        }
    }

    @Test(arguments: ["%selector%", "/%pushToken%%selector%", "/x/%pushToken", "username=%account[username]%"])
    func `a template that can read no report is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try Acrobits.Template(text) }
    }

    // MARK: Accounts and devices

    private static func report(_ selector: String, _ token: String) -> String {
        "\(root)/?username=u-\(selector)&selector=\(selector)&token=\(token)&appid=com.cloudsoftphone.app"
    }

    private static func apple(_ byte: UInt8) -> String { String(repeating: [byte].hex, count: 32) }

    @Test func `a new token moves its device; two accounts share one`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(try await server.get(Self.report("A", Self.apple(1))))
            expectSilence(try await server.get(Self.report("A", Self.apple(2))))
            #expect(try await server.devices(.ios).count == 1)
            expectSilence(try await server.get(Self.report("B", Self.apple(2))))
            #expect(try await server.devices(.ios).count == 1)
            // A is alone on its new phone; B keeps the old one.
            expectSilence(try await server.get(Self.report("A", Self.apple(3))))
            #expect(try await server.tokens(.ios) == [Self.apple(2), Self.apple(3)])
            for _ in 1...2 {
                expectSilence(try await server.get(Self.report("A", Self.apple(2))))
                expectSilence(try await server.get(Self.report("B", Self.apple(2))))
            }
            #expect(try await server.tokens(.ios) == [Self.apple(2)])
        }
    }

    @Test func `an app id that moves takes its accounts along`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(try await server.get(Self.report("A", Self.apple(1))))
            let other = try await server.store.create(.test(.ios, of: server.application))
            let application = server.application.key
            #expect(try await server.store.deleteAcrobitsAppID(SoftphoneServer.appID, of: application))
            try await server.store.set(
                AcrobitsAppID(name: SoftphoneServer.appID, applicationKey: application, platformKey: other.key))
            expectSilence(try await server.get(Self.report("A", Self.apple(1))))
            #expect(try await server.tokens(.ios).isEmpty)
            #expect(try await server.store.allDevices().filter(\.isActive).map(\.platformKey) == [other.key])
        }
    }

    @Test func `the removal of the last account deactivates the device`() async throws {
        try await SoftphoneServer.with { server in
            for selector in ["A", "B"] { expectSilence(try await server.get(Self.report(selector, Self.apple(1)))) }
            expectSilence(try await server.get("\(Self.root)/remove/?selector=A&username=u-A"))
            #expect(try await server.tokens(.ios) == [Self.apple(1)])
            expectSilence(try await server.post("\(Self.root)/remove", Self.json, #"{"selector":"B"}"#))
            #expect(try await server.tokens(.ios).isEmpty)
            expectSilence(try await server.get("\(Self.root)/remove/?selector=B"))
            expectSilence(try await server.get(Self.report("A", Self.apple(1))))
            #expect(try await server.tokens(.ios) == [Self.apple(1)])
        }
    }

    @Test func `a device keeps a bounded number of latest accounts`() async throws {
        try await SoftphoneServer.with { server in
            for number in 0..<(AcrobitsRegistration.perDevice + 3) {
                expectSilence(try await server.get(Self.report("s\(number)", Self.apple(1))))
            }
            let device = try #require(try await server.devices(.ios).first)
            let all = try await server.store.acrobitsRegistrations(device: device.uuid, of: server.application.key)
            #expect(all.count == AcrobitsRegistration.perDevice)
            #expect(!all.contains { ["s0", "s1", "s2"].contains($0.selector) })
        }
    }

    @Test func `an arrival reported by the app counts for the push`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(try await server.get(Self.report("A", Self.apple(1))))
            let call =
                #"{"verb":"NotifyGenericTextMessage","AppId":"com.cloudsoftphone.app","DeviceToken":"\#(Self.apple(1))","Message":"Hi"}"#
            #expect(try await server.post("/pnm2/send", Self.json, call).status == 200)
            let push = try #require(try await server.pushes.first)
            let path = "\(Self.root)/received/?selector=A&receiptId=\(push.receiptID.lowercased)"
            for _ in 1...2 { expectSilence(try await server.get(path)) }
            expectSilence(try await server.get("\(Self.root)/received/?selector=B&receiptId=\(push.receiptID)"))
            let ios = try #require(server.platforms[.ios])
            let counts = try await server.store.counts(of: push.key)
            #expect(counts[ios.key]?[.received] == 1)
        }
    }

    // MARK: SIP contacts

    @Test(arguments: [
        "<sip:johndow@192.0.2.1:5060;transport=tls;pn-provider=apns;pn-param=ABCD123456.com.cloudsoftphone.app.remote&voip;pn-prid=APPLE:remote&CALLS:voip>;expires=600",
        "sip:johndow@192.0.2.1;pn-provider=apns;pn-param=ABCD123456.com.cloudsoftphone.app.voip&remote;pn-prid=CALLS:voip&APPLE:remote",
    ])
    func `a SIP contact with two tokens registers both`(contact: String) async throws {
        try await SoftphoneServer.with { server in
            let voip = try #require(server.platforms[.apple(.voip)])
            try await server.store.set(
                AcrobitsAppID(
                    name: "com.cloudsoftphone.app.voip", applicationKey: server.application.key, platformKey: voip.key))
            let text = contact.replacing("APPLE", with: Self.apple(7))
                .replacing("CALLS", with: SoftphoneServer.callsTokenHex.uppercased())
            let encoded = text.replacing("&", with: "%26").replacing(";", with: "%3B").replacing("<", with: "%3C")
                .replacing(">", with: "%3E").replacing("=", with: "%3D")
            expectSilence(try await server.get("\(Self.root)/?contact=\(encoded)&selector=S"))
            #expect(try await server.tokens(.apple(.voip)) == [SoftphoneServer.callsTokenHex])
            #expect(try await server.tokens(.ios) == [Self.apple(7)])
            #expect(try await server.devices(.ios).map(\.customUserID) == ["johndow"])
        }
    }

    @Test func `the parameters of a SIP contact are understood by themselves`() async throws {
        try await SoftphoneServer.with { server in
            expectSilence(
                try await server.post(
                    Self.root, Self.form,
                    "pn-provider=fcm&pn-param=com.cloudsoftphone.app&pn-prid=\(SoftphoneServer.otherTokenText)"))
            #expect(try await server.tokens(.androidFCM) == [SoftphoneServer.otherTokenText])
        }
    }

    // MARK: Who may report

    @Test func `a wrong key or a forbidden address finds nothing`() async throws {
        try await SoftphoneServer.with(reporters: ["10.0.0.0/8"]) { server in
            for path in [Self.report("A", Self.apple(1)), "/acrobits/ffffffffffffffffffffffffffffffff/?selector=A"] {
                let answer = try await server.get(path)
                #expect(answer.status == 404)
            }
            #expect(try await server.store.allDevices().isEmpty)
        }
    }

    @Test func `a report over its limit is refused`() async throws {
        try await SoftphoneServer.with { server in
            let body = String(repeating: "a", count: Acrobits.reportBytesMax + 1)
            let answer = try await server.post(Self.root, Self.form, body)
            #expect(answer.status == 413)
        }
    }

    /// A softphone that answers the challenges of a reporter with Digest.
    private struct DigestCaller {
        var target: String
        let nonce: String
        let user: String
        let password: String

        init(_ server: SoftphoneServer, _ target: String) async throws {
            self.target = target
            let challenge = try await server.get(target)
            #expect(challenge.status == 401)
            let header = try #require(challenge.headers["www-authenticate"])
            nonce = String(try #require(header.firstMatch(of: /nonce="([^"]+)"/)).1)
            let endpoint = try #require(try await server.store.openEndpoints(of: server.application.key).first)
            let secret = try #require([UInt8](hex: TestServer.sharedSecret.utf8))
            let known = Acrobits.Digest(of: endpoint, sharedSecret: secret)
            (user, password) = (known.user, known.password)
        }

        /// - Parameter count: nil as of RFC 2069, without `qop`.
        func authorization(
            _ count: Int? = 1, password: String? = nil, method: String = "GET", quality: String = "auth"
        ) -> String {
            let first = AcrobitsReporterTests.md5("\(user):Belfry:\(password ?? self.password)")
            let second = AcrobitsReporterTests.md5("\(method):\(target)")
            let text = count.map { String($0 + 0x1_0000_0000, radix: 16).dropFirst() }
            let middle = text.map { ":\($0):0a4f113b:\(quality)" } ?? ""
            let more = text.map { "qop=\(quality), nc=\($0), cnonce=\"0a4f113b\", " } ?? ""
            return #"Authorization: Digest username="\#(user)", realm="Belfry", nonce="\#(nonce)", uri="\#(target)", "#
                + more + #"response="\#(AcrobitsReporterTests.md5("\(first):\(nonce)\(middle):\(second)"))""# + "\r\n"
        }
    }

    @Test func `a reporter with Digest takes the right password alone`() async throws {
        try await SoftphoneServer.with(digest: true) { server in
            let target = Self.report("A", Self.apple(1))
            let caller = try await DigestCaller(server, target)
            for wrong in [
                caller.authorization(password: "wrong"), caller.authorization(method: "POST"),
                caller.authorization(quality: "auth-int"),
            ] {
                let answer = try await server.get(target, wrong)
                #expect(answer.status == 401 && answer.headers["www-authenticate"]?.contains("stale") == false)
            }
            #expect(try await server.store.allDevices().isEmpty)
            expectSilence(try await server.get(target, caller.authorization()))
            #expect(try await server.tokens(.ios) == [Self.apple(1)])
        }
    }

    @Test func `a softphone signs the address with the public path`() async throws {
        try await SoftphoneServer.with(digest: true) { server in
            let target = Self.report("A", Self.apple(1))
            var caller = try await DigestCaller(server, target)
            caller.target = "/elsewhere" + target
            #expect(try await server.get(target, caller.authorization()).status == 401)
            caller.target = "/push" + target
            expectSilence(try await server.get(target, caller.authorization()))
        }
    }

    @Test(arguments: [1, nil] as [Int?])
    func `an overheard Digest is good for nothing`(count: Int?) async throws {
        try await SoftphoneServer.with(digest: true) { server in
            let target = Self.report("A", Self.apple(1))
            let caller = try await DigestCaller(server, target)
            expectSilence(try await server.get(target, caller.authorization(count)))
            for _ in 0..<10 {
                let answer = try await server.get(target, caller.authorization(count))
                #expect(answer.status == 401 && answer.headers["www-authenticate"]?.hasSuffix("stale=true") == true)
            }
            // The owner's next request is none the worse for it, with the same challenge or another.
            if count != nil { expectSilence(try await server.get(target, caller.authorization(2))) }
            let later = try await DigestCaller(server, target)
            #expect(later.nonce != caller.nonce)
            server.clock.advance(by: .seconds(299))
            expectSilence(try await server.get(target, later.authorization(7)))
            server.clock.advance(by: .seconds(1))
            let old = try await server.get(target, later.authorization(8))
            #expect(old.status == 401 && old.headers["www-authenticate"]?.hasSuffix("stale=true") == true)
        }
    }

    @Test func `counts of a nonce are taken once, in any order`() {
        let nonces = Acrobits.DigestNonces(since: Instant(milliseconds: 1), most: 4)
        func take(_ count: UInt32, _ time: Int64 = 1) -> Bool {
            nonces.take(.init(madeAt: Instant(milliseconds: time), mark: 7, count: count))
        }
        #expect(!take(1, 0), "what a process before this one took is not known")
        for count in [3, 1, 2, 60, 4, 65] as [UInt32] { #expect(take(count), "\(count)") }
        for count in [3, 1, 2, 60, 4, 65, 0] as [UInt32] { #expect(!take(count), "\(count)") }
        #expect(take(.max) && !take(.max) && take(.max - 63) && !take(.max - 64))
        // More nonces than are known: of the oldest no use is taken any more, of the newest each once.
        for time in 2...100 { #expect(take(1, Int64(time)) && !take(1, Int64(time))) }
        #expect(!take(2) && !take(2, 50) && take(2, 100))
    }

    fileprivate static func md5(_ text: String) -> String {
        Insecure.MD5.hash(data: Data(text.utf8)).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
    }
}
