/// The templates of Windows 8 and Windows Phone, and the fields of each.
///
/// Source: PCF Push API 1.6, "Custom fields for Windows 8 pushes" and "for Windows Phone pushes". `raw` is our own.
package enum WindowsTemplate {
    /// Throws `InvalidInput` with the first field that no template has.
    package static func checkWindows8(_ content: Push.Content) throws(InvalidInput) {
        let field = "message.custom.windows8"
        guard let custom = try content.members("windows8") else { return }
        let type = try custom.text("type", in: field)
        let fields = try custom.members("template_fields", in: field)
        // A raw notification contains the app's own bytes, so it has no template.
        guard type != "raw" else { return }
        let name = try custom.text("template_name", in: field)
        switch type {
        case "tile": try check(fields, of: name, in: tiles, field: field)
        case "toast":
            try check(fields, of: name, in: toasts, field: field)
            try checkOptions(try custom.members("options", in: field), field: "\(field).options")
        case "badge": try checkBadge(fields, field: "\(field).template_fields")
        default: throw .value("\(field).type", .string(type), notOneOf: ["tile", "toast", "badge", "raw"])
        }
    }

    /// Throws `InvalidInput` with the first field that no template has.
    package static func checkWindowsPhone(_ content: Push.Content) throws(InvalidInput) {
        let field = "message.custom.windowsPhone"
        guard let custom = try content.members("windowsPhone") else { return }
        let name = try custom.text("template", in: field)
        let fields = try custom.members("template_fields", in: field)
        guard name != "raw" else { return }
        guard let template = phone[name] else {
            throw .value("\(field).template", .string(name), notOneOf: (phone.keys + ["raw"]).sorted())
        }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            let path = "\(field).template_fields.\(key)"
            guard let kind = template[key] else { throw unknown(path, of: name, known: template.keys.sorted()) }
            guard kind.takes(value) else { throw .value(path, value, not: kind.rawValue) }
        }
    }

    // MARK: Windows 8

    /// The number of images and texts of a template: `imgSrc1`…, `textField1`….
    private struct Slots {
        let images: Int
        let texts: Int

        init(_ images: Int, _ texts: Int) {
            self.images = images
            self.texts = texts
        }

        var names: [String] { (1..<(images + 1)).map { "imgSrc\($0)" } + (1..<(texts + 1)).map { "textField\($0)" } }
    }

    private static let tiles: [String: Slots] = [
        "TileSquareBlock": Slots(0, 2), "TileSquareText01": Slots(0, 4), "TileSquareText02": Slots(0, 2),
        "TileSquareText03": Slots(0, 4), "TileSquareText04": Slots(0, 1), "TileSquareImage": Slots(1, 1),
        "TileSquarePeekImageAndText01": Slots(1, 4), "TileSquarePeekImageAndText02": Slots(1, 2),
        "TileSquarePeekImageAndText03": Slots(1, 4), "TileSquarePeekImageAndText04": Slots(1, 1),
        "TileWideText01": Slots(0, 5), "TileWideText02": Slots(0, 9), "TileWideText03": Slots(0, 1),
        "TileWideText04": Slots(0, 1), "TileWideText05": Slots(0, 5), "TileWideText06": Slots(0, 10),
        "TileWideText07": Slots(0, 9), "TileWideText08": Slots(0, 10), "TileWideText09": Slots(0, 2),
        "TileWideText10": Slots(0, 9), "TileWideText11": Slots(0, 10),
        "TileWideBlockAndText01": Slots(0, 6), "TileWideBlockAndText02": Slots(0, 3),
        "TileWideImage": Slots(1, 0), "TileWideImageCollection": Slots(5, 0),
        "TileWideImageAndText01": Slots(1, 1), "TileWideImageAndText02": Slots(1, 2),
        "TileWideSmallImageAndText01": Slots(1, 1), "TileWideSmallImageAndText02": Slots(1, 5),
        "TileWideSmallImageAndText03": Slots(1, 1), "TileWideSmallImageAndText04": Slots(1, 2),
        "TileWideSmallImageAndText05": Slots(1, 2),
        "TileWidePeekImageCollection01": Slots(5, 2), "TileWidePeekImageCollection02": Slots(5, 5),
        "TileWidePeekImageCollection03": Slots(5, 1), "TileWidePeekImageCollection04": Slots(5, 1),
        "TileWidePeekImageCollection05": Slots(6, 2), "TileWidePeekImageCollection06": Slots(6, 1),
        "TileWidePeekImageAndText01": Slots(1, 1), "TileWidePeekImageAndText02": Slots(1, 5),
        "TileWidePeekImage01": Slots(1, 2), "TileWidePeekImage02": Slots(1, 5), "TileWidePeekImage03": Slots(1, 1),
        "TileWidePeekImage04": Slots(1, 1), "TileWidePeekImage05": Slots(2, 2), "TileWidePeekImage06": Slots(2, 1),
    ]

    private static let toasts: [String: Slots] = [
        "ToastText01": Slots(0, 1), "ToastText02": Slots(0, 2), "ToastText03": Slots(0, 2), "ToastText04": Slots(0, 3),
        "ToastImageAndText01": Slots(1, 1), "ToastImageAndText02": Slots(1, 2), "ToastImageAndText03": Slots(1, 2),
        "ToastImageAndText04": Slots(1, 3),
    ]

    /// The number of images and texts that a toast of a template shows; none for an unknown one.
    static func toastPlaces(_ name: String) -> (images: Int, texts: Int) {
        toasts[name].map { ($0.images, $0.texts) } ?? (0, 0)
    }

    private static func check(
        _ fields: JSONObject, of name: String, in templates: [String: Slots], field: String
    ) throws(InvalidInput) {
        guard let template = templates[name] else {
            throw .value(
                "\(field).template_name", .string(name), not: "a template of its type", known: templates.keys.sorted())
        }
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            let path = "\(field).template_fields.\(key)"
            guard template.names.contains(key) else { throw unknown(path, of: name, known: template.names) }
            guard case .string = value else { throw .value(path, value, not: "a string") }
        }
    }

    private static func checkBadge(_ fields: JSONObject, field: String) throws(InvalidInput) {
        let known = ["badge_value_integer", "badge_value_string"]
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch (key, value) {
            case ("badge_value_integer", _):
                guard let number = value.wholeNumber, 1...99 ~= number else {
                    throw .value("\(field).\(key)", value, not: "a whole number from 1 to 99")
                }
            case ("badge_value_string", .string): continue
            case ("badge_value_string", _): throw .value("\(field).\(key)", value, not: "a string")
            default: throw unknown("\(field).\(key)", of: "badge", known: known)
            }
        }
    }

    // MARK: Options of a toast

    private static let sounds: Set<String> = {
        let numbers = [""] + (2...10).map { "\($0)" }
        let looping = ["Alarm", "Call"].flatMap { kind in numbers.map { "Looping.\(kind)\($0)" } }
        return Set(
            (["Default", "IM", "Mail", "Reminder", "SMS"] + looping).map { "ms-winsoundevent:Notification.\($0)" })
    }()

    private static func checkOptions(_ options: JSONObject, field: String) throws(InvalidInput) {
        for (key, value) in options.sorted(by: { $0.key < $1.key }) where !value.isNull {
            let path = "\(field).\(key)"
            switch (key, value) {
            case ("launch", .string), ("audioLoop", .bool), ("audioSilent", .bool): continue
            case ("duration", .string("short")), ("duration", .string("long")): continue
            case ("audioSrc", .string(let sound)) where sounds.contains(sound): continue
            case ("launch", _): throw .value(path, value, not: "a string")
            case ("audioLoop", _), ("audioSilent", _): throw .value(path, value, not: "a boolean")
            case ("duration", _): throw .value(path, value, notOneOf: ["short", "long"])
            case ("audioSrc", _):
                throw .value(
                    path, value, not: "one of the ms-winsoundevent:Notification sounds", known: sounds.sorted())
            default:
                throw unknown(path, of: "toast", known: ["audioLoop", "audioSilent", "audioSrc", "duration", "launch"])
            }
        }
    }

    // MARK: Windows Phone

    private enum Kind: String {
        case text = "a string"
        case number = "a whole number"
        case texts = "an array of strings"

        func takes(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (.text, .string): true
            case (.number, _): value.wholeNumber != nil
            case (.texts, .array(let items)): items.allSatisfy { if case .string = $0 { true } else { false } }
            default: false
            }
        }
    }

    private static let phone: [String: [String: Kind]] = [
        "toast": ["subtitle": .text, "parameter": .text],
        "tile": [
            "count": .number, "backBackgroundImage": .text, "backTitle": .text, "backContent": .text,
            "backgroundImage": .text,
        ],
        "flipTile": [
            "backgroundImage": .text, "backBackgroundImage": .text, "backTitle": .text, "backContent": .text,
            "count": .number, "smallBackgroundImage": .text, "wideBackBackgroundImage": .text,
            "wideBackgroundImage": .text, "wideBackContent": .text, "tileId": .text,
        ],
        "cycleTile": ["tileId": .text, "smallBackgroundImage": .text, "count": .number, "cycleImages": .texts],
        "iconicTile": [
            "tileId": .text, "count": .number, "smallIconImage": .text, "iconImage": .text, "wideContent1": .text,
            "wideContent2": .text, "wideContent3": .text, "backgroundColor": .text,
        ],
    ]

    // MARK: Words

    private static func unknown(_ path: String, of template: String, known: [String]) -> InvalidInput {
        .unknown(path, String(path.split(separator: ".").last ?? ""), notOf: "a field of \(template)", known: known)
    }
}

extension Push.Content {
    /// The sender's part for a platform; nil when there is none.
    func members(_ key: String) throws(InvalidInput) -> JSONObject? {
        guard let value = custom[key], !value.isNull else { return nil }
        return try value.demandObject("message.custom.\(key)")
    }
}

extension JSONObject {
    func text(_ key: String, in field: String) throws(InvalidInput) -> String {
        guard let value = self[key], !value.isNull else { throw InvalidInput(field: "\(field).\(key)", "is missing") }
        return try value.demandText("\(field).\(key)")
    }

    /// Empty when there are none.
    func members(_ key: String, in field: String) throws(InvalidInput) -> JSONObject {
        guard let value = self[key], !value.isNull else { return [:] }
        return try value.demandObject("\(field).\(key)")
    }
}
