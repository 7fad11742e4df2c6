import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

/// The fields of a message that each platform shows in its own way: what is taken, and what a payload has of them.
@Suite struct SharedFieldsTests {
    private static let receiptID = UUID(words: 1, 2)

    /// The shared fields of a message, read as both APIs read them.
    private static func fields(_ json: String, isTemplate: Bool = false) throws -> SharedFields {
        var fields = SharedFields()
        try JSONReader.document(Array(json.utf8)) { reader, name throws(InvalidInput) in
            guard try fields.read(name, from: &reader) else { throw InvalidInput(field: name, "is no shared field") }
        }
        try Push.Content(body: nil, shared: fields, isTemplate: isTemplate).checkShared()
        return fields
    }

    private static func content(_ json: String, body: String? = nil, custom: String = "{}") throws -> Push.Content {
        guard case .object(let parts) = try JSONValue(json: custom.utf8) else { return Push.Content(body: nil) }
        return Push.Content(body: body, shared: try fields(json), custom: parts)
    }

    // MARK: What is taken

    @Test(arguments: [
        (#"{"title":5}"#, "message.title has to be a string, it is a number"),
        (#"{"image":"http://a.example/p.png"}"#, "message.image has to be an https URL"),
        (#"{"image":"https://"}"#, "message.image has to be an https URL"),
        (#"{"image":"https:///p.png"}"#, "message.image has to be an https URL"),
        (#"{"image":"/p.png"}"#, "message.image has to be an https URL"),
        (#"{"image":"https://a.example/ü.png"}"#, "of visible ASCII characters without \\, up to 2048 bytes"),
        (#"{"link":"shop"}"#, "message.link has to be an http or https URL, or one of an app"),
        (#"{"link":"/cheese"}"#, "message.link has to be"), (#"{"link":"https:"}"#, "message.link has to be"),
        (#"{"link":"JavaScript:alert(1)"}"#, "message.link has to be"),
        (#"{"link":"data:text/html,x"}"#, "message.link has to be"),
        (#"{"link":"file:///etc/passwd"}"#, "message.link has to be"),
        (#"{"link":"view-source:https://a.example/"}"#, "message.link has to be"),
        (#"{"link":"intent://a#Intent;scheme=x;end"}"#, "message.link has to be"),
        (#"{"link":"1shop://x"}"#, "message.link has to be"), (#"{"link":["x"]}"#, "has to be a string"),
        (#"{"sound":" x"}"#, "message.sound begins or ends with a space, or holds control characters"),
        (#"{"category":"a\nb"}"#, "message.category begins or ends with"),
        (#"{"channel":7}"#, "message.channel has to be a string, it is a number"),
        (#"{"thread":"\u007f"}"#, "message.thread begins or ends with"),
        (#"{"collapse_key":"ü"}"#, "message.collapse_key has to be up to 64 visible ASCII characters"),
        (#"{"collapse_key":"x "}"#, "message.collapse_key has to be up to 64 visible ASCII characters"),
        (#"{"data":"x"}"#, "message.data has to be an object, it is a string"),
        (#"{"data":[]}"#, "message.data has to be an object, it is an array"),
        (#"{"data":{"aps":1}}"#, "message.data.aps is reserved: the server writes it"),
        (#"{"data":{"receiptId":"x"}}"#, "message.data.receiptId is reserved"),
    ])
    func `a wrong field is refused by its name`(json: String, words: String) throws {
        let fault = #expect(throws: InvalidInput.self) { try Self.fields(json) }
        #expect(fault?.description.contains(words) == true, "\(String(describing: fault))")
    }

    @Test func `each limit is taken, and no more`() throws {
        let name = String(repeating: "é", count: 256)
        #expect(try Self.fields(#"{"thread":"\#(name)"}"#)[.thread] == name)
        #expect(throws: InvalidInput.self) { try Self.fields(#"{"thread":"\#(name)x"}"#) }
        let key = String(repeating: "k", count: 64)
        #expect(try Self.fields(#"{"collapse_key":"\#(key)"}"#).collapseKey == key)
        #expect(throws: InvalidInput.self) { try Self.fields(#"{"collapse_key":"\#(key)k"}"#) }
        let url = "https://a.example/" + String(repeating: "u", count: 2_048 - 18)
        #expect(try Self.fields(#"{"image":"\#(url)","link":"\#(url)"}"#).link == url)
        #expect(throws: InvalidInput.self) { try Self.fields(#"{"image":"\#(url)u"}"#) }
    }

    @Test func `an empty or null field counts as absent`() throws {
        let empty = #"{"title":"","image":null,"link":"","sound":"","data":{},"collapse_key":"","thread":null}"#
        #expect(try Self.fields(empty).isEmpty)
        #expect(Push.Content(body: nil, shared: try Self.fields(empty)).isEmpty)
        #expect(!Push.Content(body: nil, shared: try Self.fields(#"{"data":{"a":null}}"#)).isEmpty)
        #expect(Push.Content(body: nil, shared: try Self.fields(#"{"image":"https://a.example/"}"#)).isEmpty)
    }

    @Test(arguments: [
        "http://a.example/x?y=1#z", "HTTPS://a.example", "shop://cheese/17", "mailto:a@a.example", "tel:+1",
    ])
    func `a page and a place in an app are links`(link: String) throws {
        #expect(try Self.fields(#"{"link":"\#(link)"}"#).link == link)
    }

    @Test func `a stored and shown value equals what was written`() throws {
        let content = try Self.content(
            #"{"title":"T","image":"https://a.example/p","data":{"n":1.5,"o":{"b":[1]}},"collapse_key":"k"}"#, body: "b"
        )
        #expect(try Push.Content(stored: Array(content.storedText.utf8)) == content)
        #expect(content.shared.json["data"]?["o"]?["b"] == .array([.integer(1)]))
        #expect(!Push.Content(body: "b").storedText.contains("shared"))
    }

    // MARK: Placeholders

    @Test func `placeholders are filled in every field but the collapse key`() throws {
        var fields = try Self.fields(
            #"""
            {"title":"Hi {{user.name}}","link":"https://a.example/u/{{user.id}}","image":"https://a.example/{{badge}}.png",
             "thread":"{{user.id}}","data":{"a":[{"b":"{{user.name}}"}]}}
            """#, isTemplate: true)
        var values = PersonalizedValues.Values(badge: 3)
        (values.userID, values.attributes) = ("a b", ["name": .text("Anna \"A\"")])
        fields = try Push.Content(body: nil, shared: fields, isTemplate: true).filled(with: PersonalizedValues(values))
            .shared
        #expect(fields.title == "Hi Anna \"A\"" && fields.link == "https://a.example/u/a%20b")
        #expect(fields.image == "https://a.example/3.png" && fields[.thread] == "a b")
        #expect(fields.data["a"] == .array([.object(["b": .string("Anna \"A\"")])]))
        let signed = #"{"title":"t","link":"{{'https://a.example/' | signed_link}}"}"#
        #expect(throws: Never.self) { try Self.fields(signed, isTemplate: true) }
        for (json, words) in [
            (#"{"collapse_key":"{{user.id}}"}"#, "message.collapse_key takes no placeholders"),
            (#"{"link":"{{user.page}}"}"#, "message.link has to be"),
            (#"{"link":"{{'https://a.example' | number | default: 'javascript:x'}}"}"#, "message.link has to be"),
            (#"{"link":"https://{{user.id"}"#, "message.link has {{ without }}"),
        ] {
            let fault = #expect(throws: InvalidInput.self) { try Self.fields(json, isTemplate: true) }
            #expect(fault?.description.contains(words) == true, "\(String(describing: fault))")
        }
    }

    // MARK: Payloads

    private static func text(_ bytes: [UInt8]?) -> String { bytes.map { String(decoding: $0, as: UTF8.self) } ?? "" }

    private static func ios(_ content: Push.Content) throws -> String {
        text(try IOSPayload(content, receiptID: nil, sentAt: .zero).bytes)
    }

    private static let head = #"<?xml version="1.0" encoding="utf-8"?>"#

    @Test func `a title alone is shown everywhere`() throws {
        let content = try Self.content(#"{"title":"T"}"#)
        #expect(try Self.ios(content) == #"{"aps":{"alert":{"title":"T"}}}"#)
        let android = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(android.notice?.title == "T" && android.notice?.body == nil && android.dataByKey == ["title": "T"])
        #expect(android.isHighPriority)
        #expect(
            Self.text(try WebPayload(content, receiptID: nil).bytes)
                == #"{"mutable":true,"notification":{"navigate":"/","title":"T"},"web_push":8030}"#)
        #expect(Self.text(try Windows8Payload(content)?.bytes).contains(#"ToastText01"><text id="1">T</text>"#))
        #expect(
            Self.text(try WindowsPhonePayload(content)?.bytes).contains("<wp:Toast><wp:Text1>T</wp:Text1></wp:Toast>"))
        #expect(Self.text(try BB10Payload(content)?.bytes) == "T")
    }

    @Test func `data alone wake the app and show nothing`() throws {
        let content = try Self.content(#"{"data":{"story":17,"text":"x"}}"#)
        let ios = try IOSPayload(content, receiptID: nil, sentAt: .zero)
        #expect(Self.text(ios.bytes) == #"{"aps":{"content-available":1},"story":17,"text":"x"}"# && ios.isBackground)
        let android = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(android.isSilent && android.notice == nil && !android.isHighPriority)
        #expect(android.dataByKey == ["story": "17", "text": "x"])
        #expect(Self.text(try WebPayload(content, receiptID: nil).bytes) == #"{"data":{"story":17,"text":"x"}}"#)
        let windows = try Windows8Payload(content)
        #expect(windows?.kind == .raw && Self.text(windows?.bytes) == #"{"story":17,"text":"x"}"#)
        #expect(try WindowsPhonePayload(content)?.kind == .raw)
        #expect(Self.text(try BB10Payload(content)?.bytes) == #"{"story":17,"text":"x"}"#)
        // Of the name of Android's text, too.
        let named = try AndroidPayload(
            try Self.content(#"{"data":{"message":"m"}}"#), kind: .androidFCM, receiptID: nil, sentAt: .zero)
        #expect(named.isSilent && named.dataByKey == ["message": "m"])
    }

    @Test func `a text without a title keeps its form`() throws {
        let content = try Self.content(#"{"link":"shop://a","image":"https://a.example/p"}"#, body: "b")
        #expect(
            try Self.ios(content)
                == #"{"aps":{"alert":"b","mutable-content":1},"attachment_url":"https://a.example/p","link":"shop://a"}"#
        )
        #expect(
            Self.text(try WebPayload(content, receiptID: nil).bytes) == #"{"body":"b","image":"https://a.example/p"}"#)
        let windows = Self.text(try Windows8Payload(content)?.bytes)
        #expect(
            windows == Self.head
                + #"<toast launch="shop://a"><visual><binding template="ToastImageAndText01"><image id="1" src="https://a.example/p"/><text id="1">b</text></binding></visual></toast>"#
        )
    }

    @Test func `every script and picture sign arrives as it is`() throws {
        let (title, body) = ("عاجل: جبن 🧀", "\u{202B}مرحبا\u{202C} 👩‍👩‍👧 <&\"'>")
        let content = Push.Content(body: body, shared: SharedFields([.title: title]))
        let alert = try JSONValue(json: IOSPayload(content, receiptID: nil, sentAt: .zero).bytes)["aps"]?["alert"]
        #expect(alert == .object(["title": .string(title), "body": .string(body)]))
        #expect(try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero).notice?.title == title)
        let web = try JSONValue(json: WebPayload(content, receiptID: nil).bytes)["notification"]
        #expect(web?["title"] == .string(title) && web?["body"] == .string(body))
        for bytes in [try Windows8Payload(content)?.bytes, try WindowsPhonePayload(content)?.bytes] {
            #expect(Self.text(bytes).contains(title) && Self.text(bytes).contains("👩‍👩‍👧 &lt;&amp;\"'>"))
        }
    }

    // MARK: Parts for a platform

    private static let all =
        #"{"title":"T","image":"https://a.example/p","link":"https://a.example/l","sound":"s","category":"c","channel":"ch","thread":"t","collapse_key":"k","data":{"d":1}}"#

    @Test func `each iOS key overrides the shared field`() throws {
        #expect(
            try Self.ios(
                Self.content(
                    Self.all, body: "B",
                    custom:
                        #"{"ios":{"alert":{"title":"Own"},"sound":"own","category":"own","thread-id":"own","mutable-content":0,"extra":{"link":"own://","d":"own"}}}"#
                ))
                == #"{"aps":{"alert":{"body":"B","title":"Own"},"category":"own","mutable-content":0,"sound":"own","thread-id":"own"},"attachment_url":"https://a.example/p","link":"own://","d":"own"}"#
        )
        #expect(
            try Self.ios(Self.content(#"{"title":"T"}"#, body: "B", custom: #"{"ios":{"alert":"Own"}}"#))
                == #"{"aps":{"alert":{"body":"Own","title":"T"}}}"#)
        #expect(
            try Self.ios(Self.content(#"{"title":"T"}"#, custom: #"{"ios":{"alert":{"title-loc-key":"k"}}}"#))
                == #"{"aps":{"alert":{"title-loc-key":"k"}}}"#)
    }

    @Test func `a payload in Apple's own words is filled up`() throws {
        let apple = try ApplePush(
            try JSONValue(json: #"{"payload":{"aps":{"alert":"Own","sound":"own"},"link":"own"}}"#.utf8))
        let content = Push.Content(body: "B", shared: try Self.fields(Self.all), apple: apple)
        #expect(
            try Self.ios(content)
                == #"{"aps":{"alert":{"body":"Own","title":"T"},"category":"c","mutable-content":1,"sound":"own","thread-id":"t"},"attachment_url":"https://a.example/p","link":"own","d":1}"#
        )
        let background = try ApplePush(try JSONValue(json: #"{"type":"background","payload":{"own":2}}"#.utf8))
        #expect(
            try Self.ios(Push.Content(body: nil, shared: try Self.fields(#"{"data":{"d":1}}"#), apple: background))
                == #"{"aps":{"content-available":1},"own":2,"d":1}"#)
        let call = try ApplePush(try JSONValue(json: #"{"type":"voip","payload":{"caller":"x"}}"#.utf8))
        let payload = try IOSPayload(
            Push.Content(body: nil, shared: try Self.fields(Self.all), apple: call), for: .voip, receiptID: nil,
            sentAt: .zero)
        #expect(Self.text(payload.bytes) == #"{"aps":{},"caller":"x"}"#, "a call is no notification")
    }

    @Test func `each Android key overrides the shared field`() throws {
        let content = try Self.content(
            Self.all, body: "B",
            custom:
                #"{"android":{"title":"Own","message":"own","image":"own","link":"own","sound":"own","category":"own","channel":"own","collapse_key":"own","d":"own"}}"#
        )
        let payload = try AndroidPayload(content, kind: .androidFCM, receiptID: nil, sentAt: .zero)
        let notice = try #require(payload.notice)
        #expect(notice.title == "Own" && payload.collapseKey == "own" && notice.collapseKey == "own")
        for text in [notice.body, notice.image, notice.link, notice.sound, notice.category, notice.channel] {
            #expect(text == "own")
        }
        #expect(
            payload.dataByKey == [
                "title": "Own", "message": "own", "image": "own", "link": "own", "sound": "own", "category": "own",
                "channel": "own", "thread": "t", "d": "own",
            ])
    }

    @Test(arguments: [
        (#"{"huawei":{"link":"javascript:x"}}"#, "huawei.link has to be an http or https URL"),
        (#"{"android":{"image":"http://shop.example/a.png"}}"#, "android.image has to be an https URL"),
        (#"{"android-fcm":{"sound":true}}"#, "android-fcm.sound has to be a text, it is true"),
        (#"{"amazon":{"channel":" x"}}"#, "amazon.channel begins or ends with a space"),
    ])
    func `a part's own field follows the shared field's rules`(custom: String, words: String) throws {
        let content = try Self.content(#"{"title":"T"}"#, custom: custom)
        let fault = #expect(throws: InvalidInput.self) { try content.checkShared() }
        #expect(fault?.description.hasPrefix("message.custom.\(words)") == true, "\(String(describing: fault))")
        let alone = Push.Content(body: "B", custom: content.custom)
        #expect(throws: Never.self) { try alone.checkShared() }
    }

    @Test func `a part for Android alone is data`() throws {
        let payload = try AndroidPayload(
            Push.Content(body: "B", custom: ["android": .object(["title": .string("own"), "image": .string("i")])]),
            kind: .androidFCM, receiptID: nil, sentAt: .zero)
        let notice = try #require(payload.notice)
        #expect(notice.body == "B" && notice.title == nil && notice.image == nil)
        #expect(payload.dataByKey == ["title": "own", "image": "i", "message": "B"])
    }

    @Test(arguments: ["from", "message_type", "google.x", "gcm.x"])
    func `a name of Google's is refused in data for Android`(name: String) throws {
        let content = try Self.content(#"{"data":{"\#(name)":1}}"#)
        let fault = #expect(throws: InvalidInput.self) { try content.check(for: [.androidFCM], receiptID: UUID()) }
        #expect(fault?.field == "message.data.\(name)")
        #expect(throws: Never.self) { try content.check(for: [.ios, .web], receiptID: UUID()) }
    }

    @Test func `each browser key overrides the shared field`() throws {
        let web = try WebMessage(
            try JSONValue(json: #"{"icon":"/i","navigate":"/own","topic":"own","data":"own"}"#.utf8), needsTitle: false)
        let filled = try JSONValue(
            json: WebPayload(Push.Content(body: "B", shared: try Self.fields(Self.all), web: web), receiptID: nil).bytes
        )
        #expect(
            filled["notification"]
                == (try JSONValue(
                    json:
                        #"{"title":"T","body":"B","icon":"/i","image":"https://a.example/p","navigate":"/own","tag":"own","data":"own"}"#
                        .utf8)))
        let whole = try WebMessage(try JSONValue(json: #"{"title":"Own"}"#.utf8))
        let own = try JSONValue(
            json: WebPayload(Push.Content(body: "B", shared: try Self.fields(Self.all), web: whole), receiptID: nil)
                .bytes)
        #expect(own["notification"]?["title"] == .string("Own") && own["notification"]?["body"] == nil)
        let worker = try Self.content(Self.all, body: "B", custom: #"{"web":{"title":"Own","own":1}}"#)
        #expect(
            Self.text(try WebPayload(worker, receiptID: nil).bytes)
                == #"{"body":"B","data":{"d":1},"image":"https://a.example/p","navigate":"https://a.example/l","tag":"k","title":"Own","own":1}"#
        )
        let untitled = Push.Content(body: "B", web: web)
        let fault = #expect(throws: InvalidInput.self) { try untitled.checkShared() }
        #expect(fault?.description == "message.web.title is missing")
    }

    @Test func `a Windows template is filled where it is empty`() throws {
        let content = try Self.content(
            Self.all, body: "B",
            custom:
                #"{"windows8":{"type":"toast","template_name":"ToastImageAndText02","template_fields":{"textField2":"own"},"options":{"launch":"own"}}}"#
        )
        #expect(
            Self.text(try Windows8Payload(content)?.bytes) == Self.head
                + #"<toast launch="own"><visual><binding template="ToastImageAndText02"><image id="1" src="https://a.example/p"/><text id="1">T</text><text id="2">own</text></binding></visual></toast>"#
        )
        let phone = try Self.content(
            Self.all, body: "B",
            custom: #"{"windowsPhone":{"template":"toast","template_fields":{"parameter":"/own"}}}"#)
        #expect(
            Self.text(try WindowsPhonePayload(phone)?.bytes).contains(
                "<wp:Text1>T</wp:Text1><wp:Text2>B</wp:Text2><wp:Param>/own</wp:Param>"))
        #expect(
            Self.text(try BB10Payload(Self.content(Self.all, body: "B", custom: #"{"bb10":"own"}"#))?.bytes) == "own")
    }

    @Test(arguments: [
        ("iOS", "ios"), ("fcm", "android-fcm"), ("Web Push", "web"), ("andriod", "android"),
        ("windows-phone", "windowsPhone"),
    ])
    func `a misspelt type of platform is told the right one`(written: String, meant: String) {
        let fault = #expect(throws: InvalidInput.self) { try PlatformKind(written, field: "type") }
        #expect(fault?.problem.contains("is '\(written)' (is \(meant) meant?), it has to be one of ios,") == true)
        #expect(PlatformKind.meant(by: "toaster") == nil)
    }

    @Test func `a collapse key that is too long becomes a hash`() throws {
        let plain = SharedFields([.collapseKey: "game-7"])
        #expect(plain.collapseKey(of: 32, takingSigns: true) == "game-7")
        let hashed = try #require(plain.collapseKey(of: 16, takingSigns: false))
        #expect(hashed.utf8.count == 16 && hashed.allSatisfy(\.isHexDigit))
        #expect(SharedFields([.collapseKey: "game-8"]).collapseKey(of: 16, takingSigns: false) != hashed)
        #expect(SharedFields().collapseKey(of: 16, takingSigns: true) == nil)
    }
}
