package import BelfryService

/// The content of a page, as values that templates read. Templates escape every text, so any stored text may stand here.
///
/// Templates look names up with a leading dot, in the nearest value alone.
package struct PageView: Sendable {
    package var title: String
    package var lead = ""
    package var crumbs: [Link] = []
    package var actions: [Link] = []
    package var notice = ""
    package var problem = ""
    package var tabs: [Link] = []
    package var stats: [Stat] = []
    package var sections: [Section] = []
    /// The path of an event stream: the page is loaded again when it reports something.
    package var live = ""
    /// The seconds after which the browser loads the page again; 0 for never.
    package var reloadSeconds = 0

    package init(_ title: String, lead: String = "") {
        self.title = title
        self.lead = lead
    }

    func saying(_ notice: String) -> PageView {
        var page = self
        page.notice = notice
        return page
    }
}

package struct Link: Sendable {
    package let text: String
    package let href: String
    package let isCurrent: Bool
    package let isMain: Bool

    package init(_ text: String, _ href: String, isCurrent: Bool = false, isMain: Bool = false) {
        self.text = text
        self.href = href
        self.isCurrent = isCurrent
        self.isMain = isMain
    }
}

/// A number that stands out.
package struct Stat: Sendable {
    package let label: String
    package let value: String
    package let detail: String

    package init(_ label: String, _ value: String, detail: String = "") {
        self.label = label
        self.value = value
        self.detail = detail
    }

    package init(_ label: String, _ number: Int, detail: String = "") {
        self.init(label, number.grouped, detail: detail)
    }
}

/// A part of a page under a heading of its own.
package struct Section: Sendable {
    package var heading: String
    package var text = ""
    package var facts: [Fact] = []
    package var steps: [Step] = []
    package var table: Table?
    package var chart: Chart?
    package var map: MapView?
    package var calendar: Calendar?
    /// A push as devices show it.
    package var previews: [Preview] = []
    /// Shown as it stands, in a fixed width.
    package var code: String?
    package var codeLabel = ""
    package var qr: QRCode?
    package var form: Form?
    /// Forms of one button, in a row.
    package var buttons: [Form] = []
    package var links: [Link] = []
    package var isDanger = false
    package var isSecret = false
    package var isDashed = false

    package init(_ heading: String = "", text: String = "") {
        self.heading = heading
        self.text = text
    }
}

/// A step of a path, and whether it is done.
package struct Step: Sendable {
    package let title: String
    package let text: String
    package let isDone: Bool
    package let isNext: Bool
    package let link: Link?
}

/// A name and its value.
package struct Fact: Sendable {
    package let label: String
    package let values: [Value]

    package init(_ label: String, _ values: Value...) {
        self.label = label
        self.values = values
    }

    package init(_ label: String, _ values: [Value]) {
        self.label = label
        self.values = values
    }
}

/// A text as it is shown: plain, a link, a time, a badge or code.
package struct Value: Sendable {
    package let text: String
    package var href = ""
    package var isLink = false
    /// The time in ISO 8601, for scripts that show it in the viewer's own time zone.
    package var iso = ""
    package var isTime = false
    package var tone = ""
    package var isBadge = false
    package var isCode = false
    package var isNumber = false
    package var isPlain = false

    private init(_ text: String) { self.text = text }

    package static func text(_ text: String) -> Value {
        var value = Value(text)
        value.isPlain = true
        return value
    }

    package static func number(_ number: Int) -> Value {
        var value = Value(number.grouped)
        value.isPlain = true
        value.isNumber = true
        return value
    }

    package static func link(_ text: String, _ href: String) -> Value {
        var value = Value(text)
        value.href = href
        value.isLink = true
        return value
    }

    package static func code(_ text: String) -> Value {
        var value = Value(text)
        value.isCode = true
        return value
    }

    package enum Tone: String { case good, warn, bad, calm }

    package static func badge(_ text: String, _ tone: Tone) -> Value {
        var value = Value(text)
        value.tone = tone.rawValue
        value.isBadge = true
        return value
    }

    package static func time(_ instant: Instant?, none: String = "never") -> Value {
        guard let instant else { return .text(none) }
        let iso = instant.text
        // 2026-01-31T08:30:00.000Z is shown as 2026-01-31 08:30 UTC where there is no script.
        var value = Value("\(iso.prefix(10)) \(iso.dropFirst(11).prefix(5)) UTC")
        value.iso = iso
        value.isTime = true
        return value
    }
}

/// A list with a head, and a text for while it is empty.
package struct Table: Sendable {
    package struct Column: Sendable {
        package let label: String
        package let isNumber: Bool
    }

    package struct Row: Sendable {
        package let cells: [Cell]
        /// Forms with the actions on the row.
        package let forms: [Form]
        package let hasForms: Bool
    }

    package struct Cell: Sendable {
        package let label: String
        package let isNumber: Bool
        package let values: [Value]
    }

    package let caption: String
    package let columns: [Column]
    package private(set) var rows: [Row] = []
    package let isEmpty: Bool
    package let hasForms: Bool
    package let empty: String
    package let emptyLink: Link?
    /// The address of the next part; nil at the end.
    package var next: String?

    /// - Parameters:
    ///   - columns: with `#` before the names of those that hold numbers.
    ///   - rows: a list of values for each cell.
    ///   - forms: the buttons at the end of each row; none at all when it is empty.
    package init(
        _ caption: String, _ columns: [String], _ rows: [[[Value]]], forms: [[Form]] = [], empty: String,
        emptyLink: Link? = nil
    ) {
        self.caption = caption
        let heads = columns.map { name in
            Column(label: name.hasPrefix("#") ? String(name.dropFirst()) : name, isNumber: name.hasPrefix("#"))
        }
        self.columns = heads
        hasForms = !forms.isEmpty
        self.rows = rows.enumerated().map { index, row in
            Row(
                cells: zip(heads, row).map { Cell(label: $0.label, isNumber: $0.isNumber, values: $1) },
                forms: forms.indices.contains(index) ? forms[index] : [], hasForms: !forms.isEmpty)
        }
        isEmpty = rows.isEmpty
        self.empty = empty
        self.emptyLink = emptyLink
    }
}

extension Int {
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
