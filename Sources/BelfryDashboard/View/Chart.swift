/// A bar chart over time, as the numbers of an SVG, with the table that says the same.
package struct Chart: Sendable {
    package let label: String
    package let width: Int
    package let height: Int
    package let bars: [Bar]
    package let lines: [Line]
    package let marks: [Mark]
    package let legend: [Legend]
    package let baseline: Int

    package struct Bar: Sendable {
        package let x: String
        package let y: String
        package let width: String
        package let height: String
        package let series: Int
        package let title: String
    }

    package struct Line: Sendable {
        package let y: String
        package let textY: String
        package let text: String
    }

    package struct Mark: Sendable {
        package let x: String
        package let text: String
        package let anchor: String
    }

    package struct Legend: Sendable {
        package let series: Int
        package let text: String
    }

    /// A column of the chart: its name and a value for each series.
    package struct Column: Sendable {
        package let name: String
        package let values: [Int]

        package init(_ name: String, _ values: [Int]) {
            self.name = name
            self.values = values
        }
    }

    private static let (plotWidth, plotHeight, left, top, foot) = (720.0, 160.0, 56.0, 10.0, 24.0)

    /// - Parameter series: the names of the values of each column, which stand beside one another.
    package init(_ label: String, series: [String], _ columns: [Column]) {
        self.label = label
        (width, height) = (Int(Self.left + Self.plotWidth + 8), Int(Self.top + Self.plotHeight + Self.foot))
        baseline = Int(Self.top + Self.plotHeight)
        let top = Self.ceiling(columns.flatMap(\.values).max() ?? 0)
        let slot = Self.plotWidth / Double(max(columns.count, 1))
        let bar = slot * 0.76 / Double(max(series.count, 1))
        var bars: [Bar] = []
        for (index, column) in columns.enumerated() {
            for (number, value) in column.values.enumerated() where value > 0 {
                let height = max(1, Double(value) / Double(top) * Self.plotHeight)
                bars.append(
                    Bar(
                        x: (Self.left + slot * (Double(index) + 0.12) + bar * Double(number)).short,
                        y: (Self.top + Self.plotHeight - height).short, width: max(1, bar - 1).short,
                        height: height.short, series: number,
                        title: "\(column.name): \(value.grouped) \(series[number])"))
            }
        }
        self.bars = bars
        lines = [0, top / 2, top].map { value in
            let y = Self.top + Self.plotHeight * (1 - Double(value) / Double(top))
            return Line(y: y.short, textY: (y + 4).short, text: value.grouped)
        }
        let places = Set([0, columns.count / 2, columns.count - 1].filter { columns.indices.contains($0) }).sorted()
        marks = places.map { place in
            Mark(
                x: (Self.left + slot * (Double(place) + 0.5)).short, text: columns[place].name,
                anchor: place == 0 ? "start" : place == columns.count - 1 ? "end" : "middle")
        }
        legend = series.enumerated().map { Legend(series: $0.offset, text: $0.element) }
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
