import BelfryService
import FoundationEssentials
import Testing

@Suite struct WindowsTemplateTests {
    private static func content(_ key: String, _ json: String) throws -> Push.Content {
        Push.Content(body: nil, custom: [key: try JSONValue(json: json.utf8)])
    }

    @Test(arguments: [
        #"{"type":"tile","template_name":"TileSquareBlock","template_fields":{"textField1":"a","textField2":"b"},"options":{}}"#,
        #"{"type":"tile","template_name":"TileWidePeekImageCollection05","template_fields":{"imgSrc6":"u","textField2":"t"}}"#,
        #"{"type":"tile","template_name":"TileWideImage"}"#,
        #"{"type":"toast","template_name":"ToastText04","template_fields":{"textField3":"t"},"options":{"launch":"x","audioSrc":"ms-winsoundevent:Notification.Looping.Call10","audioLoop":true,"audioSilent":false,"duration":"long"}}"#,
        #"{"type":"badge","template_name":"N/A","template_fields":{"badge_value_integer":99}}"#,
        #"{"type":"badge","template_name":"N/A","template_fields":{"badge_value_string":"alert"}}"#,
    ])
    func `a valid Windows 8 template is accepted`(json: String) throws {
        try WindowsTemplate.checkWindows8(Self.content("windows8", json))
    }

    @Test(arguments: [
        (#"{"template_name":"ToastText01"}"#, "type is missing"),
        (
            #"{"type":"bell","template_name":"ToastText01"}"#,
            "type has to be one of tile, toast, badge, raw, it is 'bell'"
        ),
        (#"{"type":"toast"}"#, "template_name is missing"),
        (
            #"{"type":"toast","template_name":"TileWideImage"}"#,
            "template_name has to be a template of its type, it is 'TileWideImage'"
        ),
        (#"{"type":"tile","template_name":7}"#, "template_name has to be a string, it is a number"),
        (
            #"{"type":"toast","template_name":"ToastText01","template_fields":{"textField2":"x"}}"#,
            "template_fields.textField2 is not a field of ToastText01 (is textField1 meant?), which takes textField1"
        ),
        (
            #"{"type":"tile","template_name":"TileWideImage","template_fields":{"imgSrc1":1}}"#,
            "template_fields.imgSrc1 has to be a string, it is 1"
        ),
        (
            #"{"type":"tile","template_name":"TileWideImage","template_fields":[]}"#,
            "template_fields has to be an object"
        ),
        (
            #"{"type":"toast","template_name":"ToastText01","options":{"audioSrc":"beep"}}"#,
            "options.audioSrc has to be one of"
        ),
        (
            #"{"type":"toast","template_name":"ToastText01","options":{"duration":"forever"}}"#,
            "options.duration has to be"
        ),
        (
            #"{"type":"toast","template_name":"ToastText01","options":{"loud":true}}"#,
            "options.loud is not a field of toast"
        ),
        (
            #"{"type":"badge","template_name":"N/A","template_fields":{"badge_value_integer":100}}"#,
            "template_fields.badge_value_integer has to be a whole number from 1 to 99"
        ),
        (
            #"{"type":"toast","template_name":"ToastText01","options":{"duration":"Long"}}"#,
            "options.duration has to be one of short, long, it is 'Long' (is long meant?)"
        ),
        (
            #"{"type":"toast","template_name":"ToastText1"}"#,
            "template_name has to be a template of its type, it is 'ToastText1' (is ToastText0"
        ),
        (
            #"{"type":"tost","template_name":"a"}"#,
            "type has to be one of tile, toast, badge, raw, it is 'tost' (is toast meant?)"
        ),
    ])
    func `an invalid Windows 8 template names its fault`(json: String, words: String) throws {
        let error = #expect(throws: InvalidInput.self) {
            try WindowsTemplate.checkWindows8(Self.content("windows8", json))
        }
        #expect(
            error?.description.hasPrefix("message.custom.windows8.\(words)") == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        #"{"template":"toast","template_fields":{"subtitle":"a","parameter":"b"}}"#,
        #"{"template":"cycleTile","template_fields":{"cycleImages":["a","b"],"count":3}}"#,
        #"{"template":"iconicTile"}"#,
    ])
    func `a valid Windows Phone template is accepted`(json: String) throws {
        try WindowsTemplate.checkWindowsPhone(Self.content("windowsPhone", json))
    }

    @Test(arguments: [
        (#"{}"#, "template is missing"),
        (
            #"{"template":"tost"}"#,
            "template has to be one of cycleTile, flipTile, iconicTile, raw, tile, toast, it is 'tost' (is toast meant?)"
        ),
        (#"{"template":"tile","template_fields":{"tileId":"x"}}"#, "template_fields.tileId is not a field of tile"),
        (#"{"template":"tile","template_fields":{"count":"3"}}"#, "template_fields.count has to be a whole number"),
        (
            #"{"template":"cycleTile","template_fields":{"cycleImages":["a",1]}}"#,
            "template_fields.cycleImages has to be an array of strings"
        ),
    ])
    func `an invalid Windows Phone template names its fault`(json: String, words: String) throws {
        let error = #expect(throws: InvalidInput.self) {
            try WindowsTemplate.checkWindowsPhone(Self.content("windowsPhone", json))
        }
        #expect(
            error?.description.hasPrefix("message.custom.windowsPhone.\(words)") == true, "\(String(describing: error))"
        )
    }

    @Test func `only platforms that are meant have a say`() throws {
        let content = try Self.content("windows8", #"{"type":"bell"}"#)
        try content.check(for: [.ios, .android, .windowsPhone, .bb10], receiptID: UUID())
        #expect(throws: InvalidInput.self) { try content.check(for: [.windows8], receiptID: UUID()) }
    }
}
