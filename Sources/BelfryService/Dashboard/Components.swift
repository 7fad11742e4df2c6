import CQrencode

struct Link: Component {
    let text: String
    let href: String
    var isCurrent = false
    var isMain = false

    init(_ text: String, _ href: String, isCurrent: Bool = false, isMain: Bool = false) {
        (self.text, self.href, self.isCurrent, self.isMain) = (text, href, isCurrent, isMain)
    }

    /// One of several pages, which a menu or tabs lead to.
    var content: [any HTML] { Tag("a", ["href": href, "aria-current": isCurrent ? "page" : nil], text) }

    var button: Tag { button() }

    /// - Parameter rel: what the page is to this one, such as `next`.
    func button(rel: String? = nil) -> Tag {
        Tag("a", ["class": classes("button", isMain ? "main" : nil), "href": href, "rel": rel], text)
    }
}

/// Links as buttons, or forms of one button, in a row.
struct ButtonRow: Component {
    private let parts: [any HTML]

    init(_ links: [Link]) { parts = links.map(\.button) }

    init(_ forms: [Form]) { parts = forms }

    var content: [any HTML] {
        if !parts.isEmpty { Tag("div", ["class": "row"]) { parts } }
    }
}

/// A number that stands out.
struct Stat: Component {
    let label: String
    let value: String
    let detail: String

    init(_ label: String, _ value: String, detail: String = "") {
        (self.label, self.value, self.detail) = (label, value, detail)
    }

    init(_ label: String, _ number: Int, detail: String = "") {
        self.init(label, number.grouped, detail: detail)
    }

    var content: [any HTML] {
        Tag("div") {
            Tag("dt", label)
            Tag("dd", value)
            Tag("dd", ["class": "detail"], detail)
        }
    }
}

/// A step of a path, and whether it is done.
struct Step: Component {
    let title: String
    let text: String
    var isDone = false
    var isNext = false
    var link: Link?

    var content: [any HTML] {
        Tag("li", ["class": classes(isDone ? "done" : nil, isNext ? "next" : nil)]) {
            Tag("h3", title)
            Tag("p", text)
            link?.button
        }
    }
}

/// A path in steps.
struct Steps: Component {
    private let steps: [Step]

    init(_ steps: [Step]) { self.steps = steps }

    var content: [any HTML] { Tag("ol", ["class": "steps"]) { steps } }
}

/// A name and its value.
struct Fact: Component {
    let label: String
    let values: [Value]

    init(_ label: String, _ values: Value...) { self.init(label, values) }

    init(_ label: String, _ values: [Value]) { (self.label, self.values) = (label, values) }

    var content: [any HTML] {
        Tag("div") {
            Tag("dt", label)
            Tag("dd") { values.spaced }
        }
    }
}

/// Facts below one another.
struct Facts: Component {
    private let facts: [any HTML]

    init(_ facts: [Fact]) { self.facts = facts }

    init(@HTMLBuilder _ facts: () -> [any HTML]) { self.facts = facts() }

    var content: [any HTML] {
        if !facts.isEmpty { Tag("dl", ["class": "facts"]) { facts } }
    }
}

/// A text as it is shown: plain, a link, a time, a badge or code.
enum Value: Component {
    case text(String)
    case number(Int)
    case link(String, String)
    case code(String)
    case badge(String, Tone, href: String? = nil)
    case small(String)
    case time(Instant?, none: String = "never")

    enum Tone: String, Sendable { case good, warn, bad, calm }

    var content: [any HTML] {
        switch self {
        case .text(let text): Tag("span", ["dir": "auto"], text)
        case .number(let number): Tag("span", ["dir": "auto"], number.grouped)
        case .link(let text, let href): Tag("a", ["href": href, "dir": "auto"], text)
        case .code(let text): Tag("code", text)
        case .badge(let text, let tone, let href?): Tag("a", ["class": "badge \(tone.rawValue)", "href": href], text)
        case .badge(let text, let tone, nil): Tag("span", ["class": "badge \(tone.rawValue)"], text)
        case .small(let text): Tag("small", text)
        case .time(nil, let none): Value.text(none)
        case .time(let instant?, _): Moment(instant: instant)
        }
    }
}

extension Value {
    fileprivate var isEmpty: Bool { if case .text("") = self { true } else { false } }
    fileprivate var isBadge: Bool { if case .badge = self { true } else { false } }
    fileprivate var isTime: Bool { if case .time = self { true } else { false } }
    /// A code that a narrow column cuts short.
    fileprivate var longCode: String? { if case .code(let text) = self, text.utf8.count > 16 { text } else { nil } }
    /// Whether it has a word that would make its column wide.
    fileprivate var isLong: Bool {
        switch self {
        case .text(let text), .link(let text, _): text.split(separator: " ").contains { $0.utf8.count > 20 }
        default: false
        }
    }
}

extension [Value] {
    var spaced: [any HTML] { flatMap { [$0, " "] as [any HTML] } }
}

/// A list with a head, and a text for while it is empty.
struct Table: Component {
    let caption: String
    private let columns: [Column]
    private let rows: [[[Value]]]
    /// The buttons at the end of each row; none at all when it is empty.
    private let forms: [[Form]]
    let empty: String
    private let emptyLink: Link?
    /// The address of the next part; nil at the end.
    var next: String?

    private struct Column {
        let label: String
        let style: String?

        /// On a phone a badge stands beside the first cell, and a time names its column.
        func style(of values: [Value]) -> String? {
            let isState = values.contains(where: \.isBadge)
            let isNamed = label != "Time" && values.contains(where: \.isTime)
            return classes(
                style ?? (isState ? "state" : isNamed ? "named" : nil), values.contains(where: \.isLong) ? "long" : nil)
        }
    }

    /// With more, codes are cut shorter.
    private static let fewColumns = 5

    /// - Parameters:
    ///   - columns: with `#` before the names of those that hold numbers.
    ///   - rows: a list of values for each cell.
    ///   - forms: the buttons at the end of each row; none at all when it is empty.
    init(
        _ caption: String, _ columns: [String], _ rows: [[[Value]]], forms: [[Form]] = [], empty: String,
        emptyLink: Link? = nil
    ) {
        self.caption = caption
        self.columns = columns.map { name in
            name.hasPrefix("#")
                ? Column(label: String(name.dropFirst()), style: "number") : Column(label: name, style: nil)
        }
        (self.rows, self.forms, self.empty, self.emptyLink) = (rows, forms, empty, emptyLink)
    }

    var content: [any HTML] {
        if rows.isEmpty {
            Tag("div", ["class": "empty"]) {
                Tag("p", empty)
                emptyLink?.button
            }
        } else {
            Tag("div", ["class": "scroll", "tabindex": 0, "role": "region", "aria-label": caption]) {
                Tag("table", ["class": columns.count > Self.fewColumns ? "many" : nil]) {
                    Tag("caption", caption)
                    Tag("thead") { Tag("tr") { head } }
                    Tag("tbody") { for (index, row) in rows.enumerated() { Tag("tr") { cells(row, index) } } }
                }
            }
        }
        if let next { Tag("p", ["class": "more"]) { Link("Next page", next).button(rel: "next") } }
    }

    @HTMLBuilder private var head: [any HTML] {
        for column in columns { Tag("th", ["scope": "col", "class": column.style], column.label) }
        if !forms.isEmpty { Tag("th", ["scope": "col"]) { Tag("span", ["class": "unseen"], "Actions") } }
    }

    @HTMLBuilder private func cells(_ row: [[Value]], _ index: Int) -> [any HTML] {
        for (column, values) in zip(columns, row) {
            let code = values.lazy.compactMap(\.longCode).first
            Tag("td", ["data-label": column.label, "class": column.style(of: values), "title": code]) {
                values.filter { !$0.isEmpty }.spaced
            }
        }
        if !forms.isEmpty { Tag("td", ["class": "forms"]) { forms.indices.contains(index) ? forms[index] : [] } }
    }
}

/// A text as it stands, in a fixed width.
struct Code: Component {
    let label: String
    let text: String

    init(_ label: String = "", _ text: String) { (self.label, self.text) = (label, text) }

    var content: [any HTML] {
        Tag("figure", ["class": "code"]) {
            Tag("figcaption", label)
            Tag("pre", ["tabindex": 0]) { Tag("code", text) }
        }
    }
}

extension Int {
    /// A count that ends at a limit, in words.
    package func counted(to limit: Int) -> String { self < limit ? grouped : "\(grouped) or more" }

    /// With commas between thousands.
    package var grouped: String {
        var digits = Substring(String(magnitude))
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.append(digits.suffix(3))
            digits = digits.dropLast(3)
        }
        groups.append(digits)
        return (self < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }
}

/// A picture that a phone's camera reads.
struct QRCode: Component {
    /// Modules on a side, with the quiet zone around them.
    let size: Int
    /// The dark modules as the path of an SVG.
    let path: String
    /// The text for screen readers.
    let label: String

    /// Source: ISO/IEC 18004 §6.3.8.
    private static let quietZone = 4

    /// nil when the text is too long for any code, over 2,331 bytes.
    init?(_ text: String, label: String) {
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        var path = ""
        for y in 0..<width {
            // The lowest bit says whether a module is dark.
            for x in 0..<width where code.pointee.data[y * width + x] & 1 == 1 {
                path += "M\(x + Self.quietZone) \(y + Self.quietZone)h1v1h-1z"
            }
        }
        size = width + 2 * Self.quietZone
        self.path = path
        self.label = label
    }

    var content: [any HTML] {
        Tag("svg", ["class": "qr", "viewBox": "0 0 \(size) \(size)", "role": "img", "aria-label": label]) {
            Tag("rect", ["width": size, "height": size])
            Tag("path", ["d": path])
        }
    }
}
