import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Writing a push on the pages: from the form to JSON and back, with a file, to one's own device first.
@Suite struct ComposePageTests {
    private static let everyone = [("body", "Fresh milk"), ("audience", "everyone")]

    private func begin() async throws -> (TestDashboard, TestBrowser, TestContents, String) {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        return (dashboard, browser, contents, "/apps/\(contents.application.uuid.lowercased)/compose")
    }

    private func add(_ count: Int, to contents: TestContents, _ dashboard: TestDashboard) async throws {
        for number in 1...count {
            let bytes = withUnsafeBytes(of: UInt64(number)) { Array($0) } + Array(repeating: UInt8(9), count: 24)
            _ = try await dashboard.store.register(
                Registration(
                    token: DeviceToken(bytes: bytes), about: Device.About(), customUserID: .keep, topics: .replace([])),
                as: nil, on: contents.platform)
        }
    }

    @Test func `the review shows pictures, sizes, sample devices and the request`() async throws {
        let (_, browser, contents, path) = try await begin()
        let fields = Self.everyone + [("title", "Today"), ("message.custom.ios.subtitle", ""), ("urgency", "bulk")]
        let page = try await browser.post(path, fields)
        #expect(page.status == .ok)
        #expect(page.contains("class=\"preview phone\"") && page.contains("class=\"preview watch\""))
        let folded = try #require(page.text.firstRange(of: "<summary>Edit the form</summary>"))
        let end = try #require(page.text[folded.upperBound...].firstRange(of: "</div></details><fieldset"))
        #expect(page.text[end.lowerBound...].contains("name=\"my_device\""), "what is left to do is not folded away")
        #expect(page.contains("<meter") && page.contains("of 4,096 bytes that APNs takes"))
        #expect(page.contains("A sample of the devices") && page.contains(contents.device.uuid.lowercased))
        #expect(page.contains("&quot;urgency&quot;: &quot;bulk&quot;") && page.contains("-d &#39;{"))
    }

    @Test(arguments: ["it's", "it'\u{301}s"])
    func `the shell request ends correctly, whatever the text`(text: String) async throws {
        let (_, browser, _, path) = try await begin()
        let page = try await browser.post(path, [("body", text), ("audience", "everyone")])
        let written = text.utf8.flatMap {
            $0 == UInt8(ascii: "'") ? Array("&#39;\\&#39;&#39;".utf8) : [$0]
        }
        #expect(page.text.utf8.firstRange(of: written) != nil)
    }

    @Test func `the form becomes JSON and returns with all changes`() async throws {
        let (_, browser, _, path) = try await begin()
        let json = try await browser.post(
            path, Self.everyone + [("title", "Today"), ("action", "json"), ("message.custom.ios", #"{"new": [1]}"#)])
        #expect(json.status == .ok && json.contains("name=\"json\"") && json.contains("name=\"mode\" value=\"json\""))
        #expect(json.contains("&quot;title&quot;: &quot;Today&quot;") && json.contains("&quot;new&quot;: [1]"))
        let edited = #"""
            {"message": {"body": "Fresh milk", "custom": {"ios": {"alert": {"title": "Tonight"}, "thread-id": "t7"}}},
             "target": {"topics": ["dairy"], "custom_user_ids": ["ann"]}}
            """#
        let form = try await browser.post(path, [("mode", "json"), ("action", "form"), ("json", edited)])
        #expect(form.status == .ok && !form.contains("name=\"json\""))
        #expect(
            form.contains("value=\"Tonight\"") && form.contains("value=\"t7\"") && form.contains(">\ndairy</textarea>"))
        #expect(form.contains(">\nann</textarea>"))
    }

    @Test(arguments: [
        ("{", "is not valid JSON"), ("[]", "has to be"), (#"{"message": {"body": "b"}}"#, "target is missing"),
        (#"{"message": {"body": "b"}, "target": {"everyone": true}, "sendAt": 1}"#, "is not a field"),
        (#"{"message": {"body": "b"}, "target": {"channels": ["x"]}}"#, "are sent to by"),
        (
            #"{"message": {"custom": {"ios": {"badge": "x"}}}, "target": {"everyone": true}}"#,
            "message.custom.ios.badge"
        ),
    ])
    func `wrong JSON is kept, and says what is wrong`(json: String, words: String) async throws {
        let (_, browser, _, path) = try await begin()
        for action in ["", "form", "send"] {
            let page = try await browser.post(
                path, [("mode", "json"), ("json", json), ("action", action), ("reviewed", "9")])
            if action == "form", json.contains("badge") { continue }
            #expect(page.status == .unprocessableContent && page.contains(words), "\(action): \(page.status)")
            #expect(page.contains("name=\"json\"") && page.contains("aria-invalid"))
        }
    }

    @Test func `a push is sent from its JSON`() async throws {
        let (dashboard, browser, _, path) = try await begin()
        let custom = #"{"ios": {"url-args": ["1"]}}"#
        let json = #"{"message": {"body": "By JSON", "custom": \#(custom)}, "target": {"everyone": true}}"#
        let review = try await browser.post(path, [("mode", "json"), ("json", json)])
        #expect(review.contains("Send it to 1 device"))
        let sent = try await browser.post(
            path, [("mode", "json"), ("json", json), ("action", "send"), ("reviewed", "1")])
        #expect(sent.location.hasSuffix("?done=sent"))
        let push = try #require(try await dashboard.store.allPushes().last)
        #expect(push.content.body == "By JSON" && push.content.custom["ios"]?["url-args"] == .strings(["1"]))
    }

    @Test func `the review has the values of a sample device`() async throws {
        let (_, browser, contents, path) = try await begin()
        let body = "{{ values.n | plural: one: '# egg', other: '# eggs' }} {{ device.id }} {{ badge }}"
        let fields = [
            ("body", body), ("audience", "everyone"), ("template", "yes"), ("language", "en"), ("values", #"{"n": 2}"#),
            ("badge", "+2"),
        ]
        let page = try await browser.post(path, fields)
        #expect(page.contains("2 eggs \(contents.device.uuid.lowercased) 2</p>"))
        #expect(page.contains("&quot;language&quot;: &quot;en&quot;"))
        let wrong = try await browser.post(path, [("body", "{{ badge | plural }}"), ("template", "yes")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("has no text for other"))
    }

    @Test func `an earlier push is copied with all that it had`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let content = Push.Content(
            body: "Hi {{ user.id }}", custom: ["ios": .object(["thread-id": .string("t7")])], badge: .add(1),
            isTemplate: true)
        let push = try await PushService(store: dashboard.store).send(
            PushRequest(
                content: content, target: try Target(topics: ["dairy"], isInteractiveOnly: true), lane: .bulk,
                guarantee: .atMostOnce), for: contents.application.key)
        let page = try await browser.get("\(path)?from=\(push.receiptID.lowercased)")
        #expect(page.contains("Hi {{ user.id }}") && page.contains("value=\"t7\"") && page.contains("value=\"+1\""))
        for name in ["template", "interactive_only", "at_most_once"] {
            #expect(page.contains("name=\"\(name)\" value=\"yes\" checked"), "\(name)")
        }
        #expect(page.contains("<option value=\"bulk\" selected>"))
        let byTopic = try await browser.get("\(path)?topic=dairy")
        #expect(byTopic.contains("<option value=\"topics\" selected>") && byTopic.contains(">\ndairy</textarea>"))
    }

    // MARK: A file

    @Test func `a file of devices is an audience`() async throws {
        let (_, browser, contents, path) = try await begin()
        let file = "device_uuid,alias\r\n\"\(contents.device.uuid.uuidString)\",x\r\n\r\n\(UUID().uuidString);y\n"
        let page = try await browser.post(path, [("body", "b")], file: ("device_file", file))
        #expect(page.contains("Send it to 1 device") && page.contains("2 devices"))
        #expect(page.contains(contents.device.uuid.lowercased) && page.contains("<option value=\"devices\" selected>"))
    }

    @Test(arguments: [
        ("nothing here", "has no device UUID"),
        ("\(UUID().uuidString)\nnot one\n", "has &#39;not one&#39; in line 2, which is no device UUID"),
        ("\(UUID().uuidString.dropLast())\n\(UUID().uuidString)", "in line 1, which is no device UUID"),
        ((0...PushLimits.devicesMax).map { _ in UUID().uuidString }.joined(separator: "\n"), "more than 4,096 devices"),
    ])
    func `a file without devices is refused at its field`(file: String, words: String) async throws {
        let (_, browser, _, path) = try await begin()
        let page = try await browser.post(path, [("body", "kept body")], file: ("device_file", file))
        #expect(page.status == .unprocessableContent && page.contains(words) && page.contains("kept body"))
    }

    // MARK: Before it is sent

    @Test func `a push goes first to one's own remembered device`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let longer = try Registration(
            token: DeviceToken(bytes: [UInt8](repeating: 250, count: 32)), about: Device.About(alias: "dairy two"),
            customUserID: .keep, topics: .keep)
        _ = try await dashboard.store.register(longer, as: nil, on: contents.platform)
        let before = try await dashboard.store.allPushes().count
        let fields = Self.everyone + [("action", "test"), ("reviewed", "1")]
        for (device, words) in [
            ("", "which device is yours?"), ("nobody's", "fits no device"), ("dair", "fits several devices"),
            (UUID().uuidString, "is no device of this"),
        ] {
            let page = try await browser.post(path, fields + [("my_device", device)])
            #expect(page.status == .unprocessableContent && page.contains(words), "\(device)")
        }
        #expect(try await dashboard.store.allPushes().count == before)
        #expect(
            !(try await browser.post(path, Self.everyone)).contains(
                "name=\"my_device\" value=\"\(contents.device.uuid.lowercased)\""))
        let page = try await browser.post(path, fields + [("my_device", "DAIRY")])
        #expect(page.status == .ok && page.contains("Your device: the provider has not answered yet"))
        #expect(page.contains("Send it to 2 devices"), "it can still be sent to all")
        let push = try #require(try await dashboard.store.allPushes().last)
        #expect(push.content.body == "Fresh milk" && push.lane == .urgent)
        #expect(try await dashboard.store.answer(of: contents.device.key, in: push.key) == .pending)
        let again = try await browser.post(path, Self.everyone)
        #expect(again.contains("name=\"my_device\" value=\"\(contents.device.uuid.lowercased)\""))
    }

    @Test func `a large audience has to be confirmed by name`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        try await add(999, to: contents, dashboard)
        let before = try await dashboard.store.allPushes().count
        let send = Self.everyone + [("action", "send"), ("reviewed", "1000")]
        let review = try await browser.post(path, Self.everyone)
        #expect(review.contains("1,000 devices") && review.contains("name=\"confirm\""))
        let beside = try await browser.post("\(path)/aside", Self.everyone)
        #expect(beside.contains("1,000 devices") && beside.contains("Review asks for the application"))
        #expect(!beside.contains("value=\"send\""))
        for typed in ["", "Dairy"] {
            let page = try await browser.post(path, send + [("confirm", typed)])
            #expect(page.status == .unprocessableContent && page.contains("has to be the name: dairy"))
        }
        #expect(try await dashboard.store.allPushes().count == before)
        #expect(try await browser.post(path, send + [("confirm", "dairy")]).location.hasSuffix("?done=sent"))
    }

    // MARK: Beside the form

    @Test func `numbers, warnings and looks stand beside the form`() async throws {
        let (_, browser, contents, path) = try await begin()
        let fields = Self.everyone + [("title", "Today"), ("image", "https://a.example/p.png")]
        let beside = try await browser.post("\(path)/aside", fields)
        #expect(beside.status == .ok && beside.headers[.contentSecurityPolicy]?.contains("img-src 'self';") == true)
        #expect(beside.contains("value=\"send\">Send it to 1 device</button>"))
        #expect(beside.contains("class=\"preview phone\"") && !beside.contains("Payload"))
        #expect(!beside.contains("<img") && beside.contains("may not load: https://a.example/p.png"))
        let review = try await browser.post(path, fields)
        for page in [beside, review] {
            #expect(page.contains("<dt>dairy</dt><dd><span dir=\"auto\">1 device</span>"))
            #expect(
                page.contains("“dairy” is parked") && page.contains("platforms/\(contents.platform.uuid.lowercased)"))
        }
        let blank = try await browser.post("\(path)/aside", [("audience", "everyone")])
        #expect(blank.contains("1 device") && blank.contains("The message is shown here"))
        #expect(!blank.contains("value=\"send\"") && !blank.contains("class=\"preview phone\""))
        let edit = "/apps/\(contents.application.uuid.lowercased)/schedules/\(contents.schedule.key.id)/aside"
        let later = try await browser.post(edit, Self.everyone + [("send_at", "2199-01-31T08:30")])
        #expect(later.contains("Save it for 1 device") && later.contains("2199-01-31 08:30 UTC"))
    }

    @Test func `a topic is completed, and an unknown one named`() async throws {
        let (_, browser, _, path) = try await begin()
        let fields = [("body", "b"), ("audience", "topics")]
        for (names, value) in [("", "dairy\n"), ("da", "dairy\n"), ("news,\nda", "news\ndairy\n")] {
            let page = try await browser.post("\(path)/aside", fields + [("names", names)])
            #expect(page.contains("<button type=\"button\" value=\"\(value)\">dairy · 1</button>"), "\(names)")
        }
        let wrong = fields + [("names", "dairi")]
        for page in [try await browser.post("\(path)/aside", wrong), try await browser.post(path, wrong)] {
            #expect(page.contains("There is no topic “dairi”: is “dairy” meant?"))
            #expect(page.contains("No device would get it now."))
        }
        let term = try await browser.post(
            "\(path)/aside", [("body", "b"), ("audience", "where"), ("where", "everyone -topic:diary")])
        #expect(term.contains("is “dairy” meant?") && term.contains("Send it to 1 device"))
    }

    @Test(arguments: [
        (("where", "topic:"), "Expression: cannot be read at character", "class=\"preview phone\""),
        (("send_at", "0026-01-31T08:30"), "Send at: is 0026-01-31 08:30, which is over", "1 device"),
        (("data", "{"), "Data for the app (JSON): is not valid JSON", ""),
        (("unless_within", "P1D"), "Only if no other push was sent within: goes with a later “Send at”", "1 device"),
        (("saved", "nothing"), "Saved template: names the template", ""),
    ])
    func `a fault is told beside the form`(field: (String, String), words: String, shown: String) async throws {
        let (_, browser, _, path) = try await begin()
        let audience = field.0 == "where" ? "where" : "everyone"
        let page = try await browser.post("\(path)/aside", [("body", "b"), ("audience", audience), field])
        #expect(page.status == .ok && page.contains(words) && !page.contains("value=\"send\""), "\(page.text)")
        #expect(shown.isEmpty || page.contains(shown))
    }

    @Test(arguments: [[], [("clock", "local"), ("send_at", "2199-01-31T08:30")]] as [[(String, String)]])
    func `a condition without a later time sends nothing`(time: [(String, String)]) async throws {
        let (dashboard, browser, _, path) = try await begin()
        let before = try await dashboard.store.allPushes().count
        let send = [("unless_within", "P1D"), ("action", "send"), ("reviewed", "1")]
        let page = try await browser.post(path, Self.everyone + time + send)
        #expect(page.status == .unprocessableContent && page.contains("goes with a later “Send at”"))
        #expect(try await dashboard.store.allPushes().count == before)
    }

    @Test func `a late or short-lived push is warned of`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        try await add(1, to: contents, dashboard)
        func local(_ seconds: Int) -> String {
            String((dashboard.clock.now + .seconds(seconds)).text.dropLast())
        }
        let times = [("throttle", "1"), ("send_at", local(-60)), ("expires_at", local(30))]
        for page in [
            try await browser.post("\(path)/aside", Self.everyone + times),
            try await browser.post(path, Self.everyone + times),
        ] {
            #expect(page.contains("It expires before all have it: 2 devices at 1 a minute"))
            #expect(page.contains("Its time is past: it goes at once."))
        }
    }

    @Test func `a count that stopped tells what it left out`() {
        let count = AudienceCount(devices: 12, isMore: true, byPlatform: [Key(1): 2, Key(2): 10])
        #expect(count.words == "more than 12 devices")
        #expect((1...3).map { count.words(on: Key($0)) } == ["2 devices", "more than 10 devices", "not counted"])
        #expect(count.isLarge && !AudienceCount(devices: 12, isMore: false).isLarge)
        let none = AudienceCount(devices: 0, isMore: true)
        #expect(!none.isNone && none.words == "devices that took too long to count")
        #expect(AudienceCount(devices: 0, isMore: false).isNone)
    }

    @Test func `the button beside sends only what was shown`() async throws {
        let (dashboard, browser, _, path) = try await begin()
        let before = try await dashboard.store.allPushes().count
        let beside = try await browser.post("\(path)/aside", Self.everyone)
        let shown = try #require(beside.text.firstMatch(of: /name="reviewed_form" value="([0-9a-f]+)"/)?.1)
        let send = [("action", "send"), ("reviewed", "1"), ("reviewed_form", String(shown))]
        let other = try await browser.post(path, [("body", "Sour milk"), ("audience", "everyone")] + send)
        #expect(other.status == .ok && other.contains("Before you send"))
        #expect(try await dashboard.store.allPushes().count == before)
        #expect(try await browser.post(path, Self.everyone + send).location.hasSuffix("?done=sent"))
    }

    @Test func `the form asks for the audience first`() async throws {
        let (_, browser, _, path) = try await begin()
        let page = try await browser.get(path)
        let places = ["To whom", "Message", "When"].map {
            page.text.firstRange(of: "<legend>\($0)</legend>")?.lowerBound
        }
        let found = places.compactMap(\.self)
        #expect(found.count == 3 && found == found.sorted())
        #expect(page.contains("data-aside=\"/dashboard\(path)/aside\""))
        #expect(page.contains("data-only=\"audience topics users devices place\""))
        #expect(!(try await browser.post(path, Self.everyone)).contains("data-aside"), "the review has it already")
    }

    // MARK: At a place

    @Test(
        arguments: [
            (["ios", "android", "android-fcm", "web"], "all"), (["ios"], "ios"),
            (["android", "android-fcm"], "android"),
            (["android-fcm"], "android-fcm"), (["ios", "android-fcm", "web"], nil), (["web"], nil),
        ] as [([String], String?)])
    func `a geofence is for the platforms that were chosen`(boxes: [String], platform: String?) async throws {
        let (dashboard, browser, contents, path) = try await begin()
        for kind in [PlatformKind.android, .androidFCM, .web] {
            _ = try await dashboard.store.create(.of(contents.application, kind: kind))
        }
        let fields = [
            ("body", "Near"), ("audience", "place"), ("place", "group-\(contents.group.key)"), ("trigger", "exit"),
            ("expires_at", "2199-01-31T08:30"),
        ]
        let review = try await browser.post(path, fields + boxes.map { ("on-\($0)", "yes") })
        #expect(review.status == (platform == nil ? .unprocessableContent : .ok))
        let fact = platform.map { ">Platforms</dt><dd><span dir=\"auto\">\($0)</span>" }
        #expect(review.contains(fact ?? "at a place is for all platforms"), "\(boxes)")
    }

    @Test func `a push at a place becomes a geofence`() async throws {
        let (dashboard, browser, contents, path) = try await begin()
        let fields = [
            ("body", "Near the shop"), ("title", "Dairy"), ("audience", "place"),
            ("place", "group-\(contents.group.key)"), ("trigger", "exit"), ("names", "dairy"),
        ]
        let without = try await browser.post(path, fields)
        #expect(without.status == .unprocessableContent && without.contains("a geofence has an end"))
        let timed = fields + [("expires_at", "2199-01-31T08:30"), ("send_at", "2198-01-31T08:30")]
        let review = try await browser.post(path, timed)
        #expect(review.status == .ok && review.contains("Make the geofence"))
        let personal = try await browser.post(path, timed + [("badge", "+1")])
        #expect(personal.status == .unprocessableContent && personal.contains("a geofence is the same for all"))
        let paced = try await browser.post(path, timed + [("throttle", "5"), ("action", "send")])
        #expect(paced.status == .unprocessableContent && paced.contains("a geofence has none"))
        #expect(try await dashboard.store.geofences(of: contents.application.key, GeoListQuery()).total == 1)
        #expect(try await browser.post(path, timed + [("action", "send")]).location.hasSuffix("places?done=saved"))
        let fence = try #require(
            try await dashboard.store.geofences(of: contents.application.key, GeoListQuery()).elements.last)
        #expect(
            fence.plan.groups == [contents.group.key] && fence.plan.trigger == .exit && fence.plan.tags == ["dairy"])
        #expect(fence.plan.startsAt == Instant(text: "2198-01-31T08:30:00Z"))
        #expect(fence.plan.data.parts["ios"]?["alertBody"] == .string("Near the shop"))
        #expect(fence.plan.data.parts["ios"]?["alertTitle"] == .string("Dairy"))
        #expect(fence.plan.data.parts["androidFcm"]?["message"] == .string("Near the shop"))
        // Who may send may not make geofences.
        let sender = try await dashboard.browser(
            "sender@a.example", .sender, .application(contents.application.key, of: Tenant.first))
        #expect(!(try await sender.get(path)).contains("<option value=\"place\""))
        #expect(try await sender.post(path, timed + [("action", "send")]).status == .forbidden)
    }
}
