import BelfryService
import FoundationEssentials
import Testing

@Suite struct OtherPayloadsTests {
    private static func content(_ key: String, _ json: String, body: String? = nil) throws -> Push.Content {
        Push.Content(body: body, custom: [key: try JSONValue(json: json.utf8)])
    }

    private static let head = #"<?xml version="1.0" encoding="utf-8"?>"#

    @Test(arguments: [
        (
            #"{"type":"toast","template_name":"ToastImageAndText02","template_fields":{"imgSrc1":"u","textField2":"b","textField1":"a"},"options":{"launch":"x=1&y","duration":"long","audioSrc":"ms-winsoundevent:Notification.Looping.Call2","audioLoop":true}}"#,
            #"<toast launch="x=1&amp;y" duration="long"><visual><binding template="ToastImageAndText02"><image id="1" src="u"/><text id="1">a</text><text id="2">b</text></binding></visual><audio src="ms-winsoundevent:Notification.Looping.Call2" loop="true"/></toast>"#
        ),
        (
            #"{"type":"toast","template_name":"ToastText02","template_fields":{"textField2":"b"}}"#,
            #"<toast><visual><binding template="ToastText02"><text id="1">the &lt;body></text><text id="2">b</text></binding></visual></toast>"#
        ),
        (
            #"{"type":"tile","template_name":"TileWideText06","template_fields":{"textField10":"j","textField2":"b"}}"#,
            #"<tile><visual><binding template="TileWideText06"><text id="2">b</text><text id="10">j</text></binding></visual></tile>"#
        ),
        (
            #"{"type":"badge","template_name":"N/A","template_fields":{"badge_value_integer":7}}"#,
            #"<badge value="7"/>"#
        ),
        (
            #"{"type":"badge","template_name":"N/A","template_fields":{"badge_value_string":"alert"}}"#,
            #"<badge value="alert"/>"#
        ),
    ])
    func `a Windows 8 device gets the XML of its template`(json: String, xml: String) throws {
        let payload = try #require(try Windows8Payload(Self.content("windows8", json, body: "the <body>")))
        #expect(String(decoding: payload.bytes, as: UTF8.self) == Self.head + xml)
    }

    /// The bytes that are sent count: a quote in a text is one byte.
    @Test func `only escaped characters cost more than a byte`() throws {
        func bytes(_ body: String) throws -> (windows: Int, phone: Int) {
            let content = Push.Content(body: body)
            return (
                try Windows8Payload(content)?.bytes.count ?? 0, try WindowsPhonePayload(content)?.bytes.count ?? 0
            )
        }
        let plain = try bytes("xxxxx")
        for text in [#"""#, "'", ">", "\n", "\t", "]"] {
            let cost = try bytes("xxxx" + text)
            #expect(cost == plain, "\(text)")
        }
        for (text, more) in [("&", 4), ("<", 3), ("\r", 4)] {
            let cost = try bytes("xxxx" + text)
            #expect(cost.windows == plain.windows + more && cost.phone == plain.phone + more, "\(text)")
        }
        #expect(try bytes("xx]]>").windows == plain.windows + 3)
        let room = Windows8Payload.bytesMax - plain.windows + 5
        let quotes = String(repeating: "\"", count: room)
        #expect(try Windows8Payload(Push.Content(body: quotes))?.bytes.count == Windows8Payload.bytesMax)
        #expect(throws: InvalidInput.self) { try Windows8Payload(Push.Content(body: quotes + "x")) }
        let launch = Push.Content(body: "x", shared: SharedFields(data: ["a": .string("<\"\t>")]))
        #expect(
            String(decoding: try Windows8Payload(launch)?.bytes ?? [], as: UTF8.self)
                .contains(#"launch="{&quot;a&quot;:&quot;&lt;\&quot;\t>&quot;}""#))
    }

    @Test func `a body alone is a toast, and nothing is nothing`() throws {
        let windows = try #require(try Windows8Payload(Push.Content(body: "a\u{0}b\u{7}")))
        #expect(windows.kind == .toast)
        #expect(String(decoding: windows.bytes, as: UTF8.self).contains(#"<text id="1">ab</text>"#))
        let phone = try #require(try WindowsPhonePayload(Push.Content(body: "hi")))
        #expect(
            String(decoding: phone.bytes, as: UTF8.self) == Self.head
                + #"<wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>hi</wp:Text1></wp:Toast></wp:Notification>"#
        )
        let empty = Push.Content(body: nil)
        #expect(try Windows8Payload(empty) == nil)
        #expect(try WindowsPhonePayload(empty) == nil)
        #expect(try BB10Payload(empty) == nil)
    }

    @Test(arguments: [
        (
            #"{"template":"toast","template_fields":{"parameter":"/p?x=1","subtitle":"s"}}"#,
            #"<wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>b</wp:Text1><wp:Text2>s</wp:Text2><wp:Param>/p?x=1</wp:Param></wp:Toast></wp:Notification>"#
        ),
        (
            #"{"template":"tile","template_fields":{"count":3,"backTitle":"t"}}"#,
            #"<wp:Notification xmlns:wp="WPNotification"><wp:Tile><wp:BackTitle>t</wp:BackTitle><wp:Count>3</wp:Count><wp:Title>b</wp:Title></wp:Tile></wp:Notification>"#
        ),
        (
            #"{"template":"cycleTile","template_fields":{"tileId":"i","cycleImages":["x","y"]}}"#,
            #"<wp:Notification xmlns:wp="WPNotification" Version="2.0"><wp:Tile Id="i" Template="CycleTile"><wp:CycleImage1>x</wp:CycleImage1><wp:CycleImage2>y</wp:CycleImage2><wp:Title>b</wp:Title></wp:Tile></wp:Notification>"#
        ),
    ])
    func `a Windows Phone gets the XML of its template`(json: String, xml: String) throws {
        let payload = try #require(try WindowsPhonePayload(Self.content("windowsPhone", json, body: "b")))
        #expect(String(decoding: payload.bytes, as: UTF8.self) == Self.head + xml)
    }

    @Test func `a raw notification is the app's own fields`() throws {
        let windows = try Windows8Payload(
            Self.content("windows8", #"{"type":"raw","template_fields":{"b":[1],"a":"x"}}"#))
        #expect(windows?.kind == .raw)
        #expect(windows.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"b":[1],"a":"x"}"#)
        let phone = try WindowsPhonePayload(
            Self.content("windowsPhone", #"{"template":"raw","template_fields":{"a":1}}"#))
        #expect(phone?.kind == .raw)
        #expect(phone.map { String(decoding: $0.bytes, as: UTF8.self) } == #"{"a":1}"#)
    }

    @Test func `a BlackBerry gets its own text before the body`() throws {
        let own = try BB10Payload(Self.content("bb10", #""mine""#, body: "all"))
        let all = try BB10Payload(Self.content("bb10", "\"\"", body: "all"))
        #expect(own?.bytes == Array("mine".utf8))
        #expect(all?.bytes == Array("all".utf8))
        #expect(throws: InvalidInput.self) { try BB10Payload(Self.content("bb10", "7")) }
    }

    @Test func `a service worker gets members, body and receipt`() throws {
        let id = try #require(UUID(uuidString: "00000000-0000-0000-0000-00000000000A"))
        let payload = try WebPayload(Self.content("web", #"{"title":"T","data":{"a":1}}"#, body: "b"), receiptID: id)
        #expect(
            String(decoding: payload.bytes, as: UTF8.self)
                == #"{"body":"b","receiptId":"00000000-0000-0000-0000-00000000000a","title":"T","data":{"a":1}}"#)
        let empty = try WebPayload(Self.content("web", #"{"body":""}"#, body: "b"), receiptID: nil)
        #expect(empty.bytes == Array(#"{"body":"b"}"#.utf8))
        #expect(throws: InvalidInput.self) { try WebPayload(Self.content("web", #"{"receiptId":1}"#), receiptID: nil) }
        #expect(throws: InvalidInput.self) { try WebPayload(Self.content("web", "[]"), receiptID: nil) }
    }

    @Test func `an oversized payload is refused with its size`() {
        let long = Push.Content(body: String(repeating: "x", count: 9_000))
        #expect(throws: InvalidInput.self) { try Windows8Payload(long) }
        #expect(throws: InvalidInput.self) { try WindowsPhonePayload(long) }
        #expect(throws: InvalidInput.self) { try BB10Payload(long) }
        #expect(throws: InvalidInput.self) { try WebPayload(long, receiptID: nil) }
    }
}
