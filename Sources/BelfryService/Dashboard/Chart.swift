/// A chart over time: bars where there are few, otherwise lines, and the same numbers as a table.
///
/// Texts stand beside the picture, which is stretched: they keep their size on every screen.
struct Chart: Component {
    private let label: String
    private let series: [String]
    private let columns: [Column]
    private let unit: Unit
    private let drawsLines: Bool
    /// Stands in its place where no column has anything; a chart without it is always drawn.
    private let empty: String

    /// A column of the chart: its name and a value for each series, nil where there is none.
    struct Column: Sendable {
        let name: String
        let values: [Int?]
        /// The value of the first series one period before.
        let previous: Int?

        init(_ name: String, _ values: [Int?], previous: Int? = nil) {
            (self.name, self.values, self.previous) = (name, values, previous)
        }
    }

    enum Unit { case count, perMille, milliseconds }

    /// The width of a column and the height of the picture, before they are stretched.
    private static let (slot, height) = (10.0, 100.0)
    /// The most bars. More would be thinner than their gaps.
    private static let barsMax = 60

    /// - Parameters:
    ///   - series: the names of the values of each column.
    ///   - drawsLines: whether even few columns are lines.
    init(
        _ label: String, series: [String], _ columns: [Column], unit: Unit = .count, drawsLines: Bool = false,
        empty: String = ""
    ) {
        (self.label, self.series, self.columns, self.unit, self.empty) = (label, series, columns, unit, empty)
        self.drawsLines = drawsLines || unit == .perMille
    }

    var content: [any HTML] {
        if !empty.isEmpty, columns.allSatisfy({ $0.values.allSatisfy { ($0 ?? 0) == 0 } }) {
            Tag("p", ["class": "hint"], empty)
        } else {
            figure
        }
    }

    private var figure: Tag {
        Tag("figure", ["class": "chart"]) {
            Tag("ul", ["class": "legend"]) {
                for (number, name) in series.enumerated() { Tag("li", ["class": "series\(number)"], name) }
                if hasPrevious { Tag("li", ["class": "previous"], Self.previous) }
            }
            Tag("div", ["class": "plot"]) {
                Tag("div", ["class": "ticks", "aria-hidden": "true"]) {
                    (0...steps).reversed().map { Tag("span", unit.short(ceiling / steps * $0)) }
                }
                picture
                Tag("div", ["class": "names", "aria-hidden": "true"]) { names.map { Tag("span", $0) } }
            }
            // A script says here what the column under the pointer or the keyboard has.
            Tag("p", ["class": "reading", "aria-live": "polite"], "")
            Tag("details") {
                Tag("summary", "As a table")
                table
            }
        }
    }

    private static let previous = "period before"
    private var hasPrevious: Bool { columns.contains { $0.previous != nil } }

    private var table: Table {
        Table(
            label, ["Time"] + (series + (hasPrevious ? [Self.previous] : [])).map { "#\($0)" },
            columns.map { column in
                let values = column.values + (hasPrevious ? [column.previous] : [])
                return [[.text(column.name)]] + values.map { [.text($0.map(unit.text) ?? "—")] }
            }, empty: "")
    }

    // MARK: The picture

    private var picture: Tag {
        let width = Int(Self.slot) * max(columns.count, 1)
        return Tag(
            "svg",
            [
                "viewBox": "0 0 \(width) \(Int(Self.height))", "preserveAspectRatio": "none", "role": "img",
                "aria-label": label,
            ]
        ) {
            for step in 0...steps {
                let y = (Self.height * Double(step) / Double(steps)).short
                Tag("line", ["x1": 0, "x2": width, "y1": y, "y2": y])
            }
            if !drawsLines, columns.count * series.count <= Self.barsMax {
                bars
            } else {
                for number in series.indices {
                    Tag("path", ["class": "series\(number)", "d": path(columns.map { $0.values[number] })])
                }
            }
            if hasPrevious { Tag("path", ["class": "previous", "d": path(columns.map(\.previous))]) }
            for (index, column) in columns.enumerated() {
                Tag("rect", ["class": "column", "x": index * Int(Self.slot), "width": "10", "height": "100"]) {
                    Tag("title", words(column))
                }
            }
        }
    }

    /// Such as `2026-01-31: sent 1,234; opened 56`.
    private func words(_ column: Column) -> String {
        let values = zip(series + [Self.previous], column.values + [column.previous])
        let words = values.compactMap { name, value in value.map { "\(name) \(unit.text($0))" } }
        return "\(column.name): " + (words.isEmpty ? "—" : words.joined(separator: "; "))
    }

    private func y(_ value: Int) -> Double { Self.height * (1 - min(1, Double(value) / Double(ceiling))) }

    @HTMLBuilder private var bars: [any HTML] {
        let width = Self.slot * 0.8 / Double(max(series.count, 1))
        for (index, column) in columns.enumerated() {
            for (number, value) in column.values.enumerated() {
                if let value, value > 0 {
                    let top = min(y(value), Self.height - 1)
                    let x = Self.slot * (Double(index) + 0.1) + width * Double(number)
                    Tag(
                        "rect",
                        [
                            "class": "series\(number)", "x": x.short, "y": top.short,
                            "width": (width * 0.9).short, "height": (Self.height - top).short,
                        ])
                }
            }
        }
    }

    /// A line through the values, with a gap where there is none. A value between two gaps is a dot.
    private func path(_ values: [Int?]) -> String {
        var (path, isOpen) = ("", false)
        for (index, value) in values.enumerated() {
            if let value {
                path += "\(isOpen ? "L" : "M")\((Self.slot * (Double(index) + 0.5)).short) \(y(value).short)"
                path += isOpen ? "" : "h0"
            }
            isOpen = value != nil
        }
        return path
    }

    /// The first, the middle and the last column's.
    private var names: [String] {
        Set([0, columns.count / 2, columns.count - 1]).sorted().filter(columns.indices.contains)
            .map { columns[$0].name }
    }

    // MARK: The scale

    private var ceiling: Int {
        unit == .perMille
            ? 1_000 : Self.ceiling(columns.flatMap { $0.values + [$0.previous] }.compactMap(\.self).max() ?? 0)
    }

    /// The parts of the scale, between round numbers.
    private var steps: Int { ceiling == 1 ? 1 : "\(ceiling)".hasPrefix("5") || "\(ceiling)".hasPrefix("25") ? 5 : 2 }

    /// The next whole number of the form 1, 2, 2.5 or 5 times a power of ten.
    static func ceiling(_ value: Int) -> Int {
        guard value < Int.max / 1_000 else { return Int.max / 2 }
        var step = 1
        while true {
            for factor in [10, 20, 25, 50] where value * 10 <= factor * step && factor * step % 10 == 0 {
                return factor * step / 10
            }
            step *= 10
        }
    }
}

extension Chart.Unit {
    func text(_ value: Int) -> String {
        switch self {
        case .count: value.grouped
        case .perMille: "\(value / 10)\(value % 10 == 0 ? "" : ".\(value % 10)") %"
        case .milliseconds where value < 1_000: "\(value) ms"
        case .milliseconds: Duration.milliseconds(value).inSeconds
        }
    }

    /// As it stands beside the scale: such as 250k.
    fileprivate func short(_ value: Int) -> String {
        guard self == .count, value >= 1_000 else { return text(value) }
        let (size, mark) = value >= 10_000_000 ? (1_000_000, "M") : (1_000, "k")
        return value % size == 0 ? (value / size).grouped + mark : value.grouped
    }
}

extension Double {
    /// With one decimal.
    var short: String { String((self * 10).rounded() / 10) }
}
