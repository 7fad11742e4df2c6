/// A bar chart over time, as an SVG.
struct Chart: Component {
    private let label: String
    private let series: [String]
    private let columns: [Column]

    /// A column of the chart: its name and a value for each series.
    struct Column: Sendable {
        let name: String
        let values: [Int]

        init(_ name: String, _ values: [Int]) { (self.name, self.values) = (name, values) }
    }

    private static let (plotWidth, plotHeight, left, top, foot) = (720.0, 160.0, 56.0, 10.0, 24.0)

    /// - Parameter series: the names of the values of each column, which stand beside one another.
    init(_ label: String, series: [String], _ columns: [Column]) {
        (self.label, self.series, self.columns) = (label, series, columns)
    }

    var content: [any HTML] {
        let size = (Int(Self.left + Self.plotWidth + 8), Int(Self.top + Self.plotHeight + Self.foot))
        let ceiling = Self.ceiling(columns.flatMap(\.values).max() ?? 0)
        Tag("figure", ["class": "chart"]) {
            Tag("ul", ["class": "legend"]) {
                for (number, name) in series.enumerated() { Tag("li", ["class": "series\(number)"], name) }
            }
            Tag("svg", ["viewBox": "0 0 \(size.0) \(size.1)", "role": "img", "aria-label": label]) {
                for value in [0, ceiling / 2, ceiling] { line(value, of: ceiling) }
                bars(of: ceiling)
                names
            }
        }
    }

    @HTMLBuilder private func line(_ value: Int, of ceiling: Int) -> [any HTML] {
        let y = Self.top + Self.plotHeight * (1 - Double(value) / Double(ceiling))
        Tag("line", ["x1": 56, "x2": 776, "y1": y.short, "y2": y.short])
        Tag("text", ["x": 50, "y": (y + 4).short, "text-anchor": "end"], value.grouped)
    }

    private var slot: Double { Self.plotWidth / Double(max(columns.count, 1)) }

    @HTMLBuilder private func bars(of ceiling: Int) -> [any HTML] {
        let width = slot * 0.76 / Double(max(series.count, 1))
        for (index, column) in columns.enumerated() {
            for (number, value) in column.values.enumerated() where value > 0 {
                let height = max(1, Double(value) / Double(ceiling) * Self.plotHeight)
                let x = Self.left + slot * (Double(index) + 0.12) + width * Double(number)
                let y = Self.top + Self.plotHeight - height
                Tag(
                    "rect",
                    [
                        "class": "series\(number)", "x": x.short, "y": y.short, "width": max(1, width - 1).short,
                        "height": height.short, "rx": "1.5",
                    ]
                ) { Tag("title", "\(column.name): \(value.grouped) \(series[number])") }
            }
        }
    }

    /// The first, the middle and the last column's, under the bars.
    @HTMLBuilder private var names: [any HTML] {
        let places = Set([0, columns.count / 2, columns.count - 1].filter { columns.indices.contains($0) }).sorted()
        for place in places {
            let anchor = place == 0 ? "start" : place == columns.count - 1 ? "end" : "middle"
            let x = Self.left + slot * (Double(place) + 0.5)
            Tag("text", ["x": x.short, "y": 190, "text-anchor": anchor], columns[place].name)
        }
    }

    /// The next even number of the form 2, 4 or 10 times a power of ten.
    static func ceiling(_ value: Int) -> Int {
        var step = 1
        while true {
            for factor in [2, 4, 10] where value <= factor * step { return factor * step }
            guard step < Int.max / 100 else { return Int.max / 2 }
            step *= 10
        }
    }
}

extension Double {
    /// With one decimal.
    fileprivate var short: String { String((self * 10).rounded() / 10) }
}
