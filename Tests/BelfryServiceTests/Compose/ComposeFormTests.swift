import FoundationEssentials
import Testing

@testable import BelfryService

/// A push as a form, as JSON, and as pictures.
@Suite struct ComposeFormTests {
    private static let everyone = #""target": {"everyone": true}"#

    @Test(arguments: [
        #"{"message": {"body": "Hello"}, \#(everyone)}"#,
        #"{"message": {"body": "  two\nlines  "}, \#(everyone)}"#,
        #"{"message": {"body": "a\r\nb", "badge": 3}, \#(everyone)}"#,
        #"{"message": {"body": "Hi {{user.name | default: 'you'}}", "template": true, "badge": "+1"}, \#(everyone)}"#,
        #"""
        {"message": {"title": "T", "body": "b", "image": "https://a.example/p.png", "link": "shop://a", "sound": "default",
          "data": {"story": 17, "o": {"p": []}}, "category": "c", "channel": "ch", "collapse_key": "k", "thread": "t"},
         "target": {"everyone": true}}
        """#,
        #"{"message": {"title": " T ", "data": {"a": null}}, \#(everyone)}"#,
        // The same for each platform by itself.
        #"""
        {"message": {"body": "b", "custom": {
          "ios": {"alert": {"title": "T"}, "sound": "default", "mutable-content": 1,
                  "extra": {"link": "https://a.example/", "image": "https://a.example/a.png", "story": "17"}},
          "android": {"title": "T", "link": "https://a.example/", "image": "https://a.example/a.png", "story": "17"},
          "web": {"title": "T", "navigate": "https://a.example/", "image": "https://a.example/a.png",
                  "data": {"story": "17"}}}}, "target": {"everyone": true}}
        """#,
        // The same but for one thing.
        #"""
        {"message": {"body": "b", "custom": {"ios": {"alert": {"title": "T"}}, "android": {"title": "U"}}},
         "target": {"everyone": true}}
        """#,
        #"{"message": {"custom": {"ios": {"alert": {"title": "T"}}}}, \#(everyone)}"#,
        // Each key of iOS, and keys that no field is for.
        #"""
        {"message": {"custom": {"ios": {
          "alert": {"title": "T", "subtitle": "S", "body": "B", "title-loc-key": "k", "title-loc-args": ["a", "b"],
            "subtitle-loc-key": "k", "subtitle-loc-args": ["c"], "loc-key": "l", "loc-args": ["1", "2"],
            "action-loc-key": "x", "launch-image": "i.png"},
          "badge": "+2", "sound": {"critical": 1, "name": "s", "volume": 0.5}, "category": "news", "thread-id": "t",
          "interruption-level": "time-sensitive", "relevance-score": 0.25, "target-content-id": "w",
          "filter-criteria": "f", "mutable-content": 1, "content-available": true, "url-args": ["u"],
          "extra": {"a": 1.5, "b": [true], "c": ""}}}}, "target": {"everyone": true}}
        """#,
        #"{"message": {"custom": {"ios": {"alert": "short", "badge": 0, "content-available": 1}}}, \#(everyone)}"#,
        #"{"message": {"custom": {"ios": {"alert": {"loc-args": ["a\nb", ""]}, "sound": ""}}}, \#(everyone)}"#,
        #"{"message": {"apns": {"type": "background", "payload": {"order": 17}}}, \#(everyone)}"#,
        #"""
        {"message": {"apns": {"type": "alert", "priority": 5, "collapse_id": "c", "store": false,
          "payload": {"aps": {"alert": {"title": "T", "body": "B"}, "sound": "s"}, "link": "l", "own": {}}}},
         "target": {"everyone": true}}
        """#,
        #"{"message": {"body": "b", "apns": {"payload": {"aps": {"alert": "A"}}}}, \#(everyone)}"#,
        #"""
        {"message": {"custom": {"android": {"message": "m", "collapse_key": "c", "priority": "high", "n": 1, "o": {"p": []}},
          "android-fcm": {"x": "y"}, "androidFcm": {"z": "1"}, "huawei": {}, "android-baidu": null}},
         "target": {"everyone": true}}
        """#,
        #"""
        {"message": {"web": {"title": "T", "body": "B", "icon": "/i.png", "image": "/p.png", "badge": "/b.png",
          "navigate": "/n", "actions": [{"action": "a", "title": "A", "navigate": "/a", "icon": "/i"},
          {"action": "b", "title": "B"}], "data": {"g": 7}, "topic": "t", "urgency": "high", "ttl": 0,
          "app_badge": "+1", "lang": "ar", "dir": "rtl", "silent": true, "require_interaction": false}},
         "target": {"platforms": ["web"], "topics": ["news"]}}
        """#,
        #"{"message": {"body": "b", "web": {"title": "T | U", "data": "text", "actions": []}}, \#(everyone)}"#,
        #"""
        {"message": {"body": "b", "custom": {"windows8": {"type": "toast", "template_name": "ToastText02",
          "template_fields": {"textField1": "1"}, "options": {"launch": "l", "duration": "long", "audioLoop": true,
          "audioSilent": false, "audioSrc": "ms-winsoundevent:Notification.Mail"}},
          "windowsPhone": {"template": "flipTile", "template_fields": {"count": 3}}, "bb10": "text",
          "webhook": {"any": [1]}}}, "target": {"everyone": true}}
        """#,
        #"{"message": {"body": "b"}, "target": {"topics": ["a", "b"], "custom_user_ids": ["x", "y"]}}"#,
        #"{"message": {"body": "b"}, "target": {"custom_user_ids": ["with, a comma", " and spaces "]}}"#,
        #"{"message": {"body": "b"}, "target": {"topics": ["a"], "platforms": [], "interactive_only": true}}"#,
        #"{"message": {"body": "b"}, "target": {"everyone": true, "platforms": ["web", "ios"]}}"#,
        #"{"message": {"body": "b"}, "target": {"devices": ["11111111-2222-4333-8444-555555555555"]}}"#,
        #"{"message": {"body": "b"}, "target": {"devices": []}}"#,
        #"""
        {"message": {"body": "b"}, "target": {"everyone": true}, "send_at": "2030-01-31T08:30:00Z",
         "expires_at": "2030-02-01T08:30:15.250Z", "urgency": "bulk", "at_most_once": true}
        """#,
    ])
    func `a request shown as a form is sent unchanged`(text: String) throws {
        let written = try ComposedPush(JSONValue(json: Array(text.utf8)))
        // Applications with all kinds of platform, and with one.
        for kinds: Set<PlatformKind> in [Set(PlatformKind.allCases), [.ios], [.androidFCM], [.web], [.windows8]] {
            let form = ComposeForm(kinds, action: "")
            let sent = form.form(form.data(of: written.request, sendAt: written.sendAt)).sent
            let read = try ComposedPush(form.request(sent))
            #expect(read.request == written.request, "\(kinds.count)")
            #expect(read.sendAt == written.sendAt)
            #expect(try form.request(sent)["message"] == written.request.json()["message"])
        }
    }

    /// They go through the form, its JSON, a draft and the form again.
    @Test func `data of the form are sent as they were typed`() throws {
        let data =
            #"{"price":12.50,"one":1.0,"zero":-0,"id":123456789012345678901234567890,"z":[1E+2],"\#u{E9}":1,"e\#u{301}":2,"a":{"b":1.10}}"#
        let form = ComposeForm([.ios, .androidFCM, .web], action: "")
        var typed = FormData()
        for (name, value) in [
            ("body", "Hello"), ("data", data), ("message.custom.ios.extra", data), ("audience", "everyone"),
            ("on-ios", "yes"), ("on-android-fcm", "yes"), ("on-web", "yes"),
        ] { typed.put(name, value) }
        for _ in 0..<3 {
            let request = try form.request(typed)
            for value in [request["message"]?["data"], request["message"]?["custom"]?["ios"]?["extra"]] {
                #expect(try #require(value).storedText.utf8.elementsEqual(data.utf8))
            }
            let written = try ComposedPush(try JSONValue(json: request.pretty.utf8))
            #expect(JSONValue.object(written.request.content.shared.data).encoded == Array(data.utf8))
            typed = form.form(form.data(of: written.request, sendAt: nil)).sent
        }
    }

    @Test func `every field of a message has one in the form`() throws {
        let form = ComposeForm([.ios, .androidFCM, .web], action: "")
        var data = FormData()
        for (name, value) in [
            ("body", "Hello"), ("title", "T"), ("link", "https://a.example/"), ("image", "https://a.example/p.png"),
            ("sound", "default"), ("data", #"{"story": "17"}"#), ("category", "c"), ("channel", "ch"),
            ("collapse_key", "k"), ("thread", "t"), ("message.custom.ios.alert.title", "Own"), ("audience", "everyone"),
            ("on-ios", "yes"),
        ] { data.put(name, value) }
        let expected = #"""
            {"title": "T", "body": "Hello", "image": "https://a.example/p.png", "link": "https://a.example/", "sound": "default",
             "data": {"story": "17"}, "category": "c", "channel": "ch", "collapse_key": "k", "thread": "t",
             "custom": {"ios": {"alert": {"title": "Own"}}}}
            """#
        #expect(try form.request(data)["message"] == JSONValue(json: expected.utf8))
        #expect(!form.isBlank(data))
    }

    @Test(arguments: [
        ("message.custom.ios.relevance-score", "x", "has to be a number"),
        ("message.custom.ios.badge", "many", "has to be a whole number"),
        ("message.custom.ios", "[1]", "has to be an object"),
        ("message.custom.ios.extra", "{", "is not valid JSON"),
        ("message.custom.ios.extra", #"{"aps": {}}"#, "is reserved"),
        ("message.custom.ios.interruption-level", "loud", "has to be one of"),
        ("message.apns.payload", #"{"aps": {"alert": 7}}"#, "has to be"),
        ("message.apns.priority", "5", "message.custom.ios exclude each other"),
        ("data", "[]", "has to be an object"), ("image", "http://a.example/p.png", "has to be an https URL"),
        ("link", "javascript:1", "has to be an http or https URL"), ("collapse_key", "ü", "visible ASCII"),
        ("badge", "-1", "has to be a whole number"),
        ("expires_at", "soon", "has to be a time"),
    ])
    func `a wrong key is marked at its unfolded field`(name: String, value: String, words: String) throws {
        let form = ComposeForm([.ios], action: "")
        var data = FormData()
        for (name, value) in [
            ("body", "b"), ("audience", "everyone"), ("message.custom.ios.category", "c"), (name, value),
        ] { data.put(name, value) }
        let fault = #expect(throws: InvalidInput.self) {
            try ComposedPush(form.request(data)).request.content.check(for: [.ios], receiptID: UUID())
        }
        var shown = form.form(data)
        shown.show(try #require(fault).problem, at: try #require(fault).field, names: ComposeForm.names)
        let wrong = (shown.fields + shown.groups.flatMap(\.fields)).filter(\.isWrong)
        #expect(wrong.first?.problem.contains(words) ?? shown.problem.contains(words), "\(String(describing: fault))")
        guard let field = wrong.first, let group = shown.groups.first(where: { $0.fields.contains { $0.isWrong } })
        else { return }
        #expect(group.isOpen && (field.value == value || field.name != name))
    }

    @Test func `reminders and a condition are typed as words and numbers`() throws {
        let form = ComposeForm([.ios], action: "")
        var data = FormData()
        for (name, value) in [
            ("body", "b"), ("audience", "everyone"), ("remind_every", "PT10M"), ("remind_times", "3"),
            ("unless_within", "P1D"), ("unless_kind", "2026"),
        ] { data.put(name, value) }
        let request = try form.request(data)
        #expect(request["reminders"] == .object(["every": .string("PT10M"), "times": .integer(3)]))
        #expect(request["unless_sent"] == .object(["within": .string("P1D"), "kind": .string("2026")]))
        let again = form.data(of: try ComposedPush(request).request)
        for name in ["remind_every", "remind_times", "unless_within", "unless_kind"] {
            #expect(again[name] == data[name])
        }
        data.put("remind_every", "10")
        let fault = #expect(throws: InvalidInput.self) { try ComposedPush(form.request(data)) }
        #expect(fault?.field == "reminders.every" && fault?.problem.contains("PT12H") == true)
    }

    @Test func `a path of a sender's own, however long, costs little`() {
        var form = Form("", "", [.text("a", "A")])
        form.show("is wrong", at: "a" + String(repeating: ".", count: 60_000))
        #expect(form.fields[0].isWrong)
    }

    // MARK: Previews

    @Test func `a picture shows the provider's payload with its size`() throws {
        let content = Push.Content(
            body: "Fresh milk",
            custom: [
                "ios": .object([
                    "alert": .object(["title": .string("Dairy"), "subtitle": .string("Town")]), "badge": .integer(3),
                ]), "android": .object(["title": .string("Dairy"), "image": .string("https://a.example/p.png")]),
                "web": .object([
                    "title": .string("Shop"),
                    "actions": .array([.object(["action": .string("a"), "title": .string("Open")])]),
                ]),
            ])
        let pictures = Preview.all(
            of: content, on: [.ios, .android, .androidFCM, .web, .windows8], for: "App", at: .zero)
        #expect(pictures.map(\.shape) == [.phone, .watch, .android, .android, .toast, .browser])
        let (phone, gcm, fcm, toast, web) = (pictures[0], pictures[2], pictures[3], pictures[4], pictures[5])
        #expect(phone.title == "Dairy" && phone.subtitle == "Town" && phone.body == "Fresh milk" && phone.badge == "3")
        let payload = try IOSPayload(content, for: .app, receiptID: UUID(), sentAt: .zero)
        #expect(phone.bytes == payload.bytes.count && phone.limit == 4_096)
        #expect(phone.size == "\(payload.bytes.count) of 4,096 bytes that APNs takes")
        #expect(
            try JSONValue(json: Array(#require(phone.payload).utf8))["aps"] == JSONValue(json: payload.bytes)["aps"])
        #expect(gcm.title == "Dairy" && gcm.picture == "https://a.example/p.png")
        // A title for Android alone is data, as PCF had it.
        #expect(fcm.title.isEmpty && fcm.body == "Fresh milk" && fcm.payload?.contains("\"notification\"") == true)
        #expect(toast.body == "Fresh milk" && toast.limit == 5_000)
        #expect(web.title == "Shop" && web.actions == ["Open"] && web.limit == 3_993)
    }

    @Test func `a message with every field is drawn for each platform`() throws {
        let picture = "https://a.example/p.png"
        let content = Push.Content(
            body: "Fresh milk",
            shared: SharedFields(
                [.title: "Dairy", .image: picture, .link: "https://a.example/"], data: ["a": .integer(1)]))
        let drawn = Preview.all(
            of: content, on: [.ios, .android, .androidFCM, .web, .windows8, .windowsPhone], for: "App", at: .zero)
        #expect(drawn.map(\.shape) == [.phone, .watch, .android, .android, .toast, .toast, .browser])
        for preview in drawn { #expect(preview.title == "Dairy" && preview.body == "Fresh milk", "\(preview.label)") }
        #expect(drawn.map(\.picture) == [picture, picture, picture, picture, picture, nil, picture])
        #expect(drawn[3].payload?.contains(#""title": "Dairy""#) == true)
        #expect(drawn.last?.note == "A click opens https://a.example/")
    }

    @Test func `a waking or counting push is drawn as such`() throws {
        let silent = Preview.all(of: .silent(["a": .integer(1)]), on: [.ios, .androidFCM], for: "App", at: .zero)
        #expect(silent.map(\.shape) == [.phone, .android] && silent.allSatisfy { !$0.isShown })
        #expect(silent.allSatisfy { $0.note.contains("Nothing is shown") })
        let counting = Push.Content(body: "b", badge: .add(1))
        let picture = try #require(Preview.all(of: counting, on: [.ios], for: "App", at: .zero).first)
        #expect(picture.badge == "1" && picture.payload?.utf8.contains(0xEF) == false, "no mark")
        let longest = try IOSPayload(counting.longest(), for: .app, receiptID: UUID(), sentAt: .zero)
        #expect(picture.bytes == longest.bytes.count, "the size is the greatest that it may have")
    }

    @Test(arguments: ["a < b & \"c\"", "\u{301}a", "\u{200D}<\u{301}\u{600}"])
    func `texts of XML are shown as they are written`(text: String) throws {
        let picture = try #require(
            Preview.all(of: Push.Content(body: text), on: [.windows8], for: "App", at: .zero).first)
        #expect(picture.body == text)
    }

    @Test(arguments: [
        ("a, b", ["a", "b"]), ("a\n b \r\n\nc", ["a", "b", "c"]), ("\"cn=emma,ou=people\"", ["cn=emma,ou=people"]),
        ("\"Müller, Hans\", eva", ["Müller, Hans", "eva"]), ("cn=a,ou=b\ncn=c,ou=d", ["cn=a,ou=b", "cn=c,ou=d"]),
        ("a,\nb,", ["a", "b"]), ("\"a \"\"b\"\", c\"", ["a \"b\", c"]), ("O\"Neil, b", ["O\"Neil", "b"]),
    ])
    func `names of users may have commas in them`(text: String, names: [String]) {
        var form = FormData()
        form.put("names", text)
        #expect(form.lines("names") == names)
        form.put("names", ListedNames.write(names))
        #expect(form.lines("names") == names && form.list("names") == names, "\(form.raw("names"))")
    }
}

extension Form {
    /// The fields as a browser sends them.
    var sent: FormData {
        var data = FormData()
        for field in fields + groups.flatMap(\.fields) where !field.isFile {
            if field.isCheck {
                if field.isChecked { data.put(field.name, "yes") }
            } else {
                let value =
                    switch field.kind {
                    case .area: field.value.replacing("\n", with: "\r\n")
                    case .select(let options): options.first { $0.value == field.value }?.value ?? ""
                    default: field.value
                    }
                try? data.add(field.name, value)
            }
        }
        for hidden in hidden { data.put(hidden.name, hidden.value) }
        return data
    }
}
