package import CoreMetrics
import Synchronization

/// Collects all metrics of the process and writes them as Prometheus text.
///
/// Source: Prometheus, "Exposition formats", text format 0.0.4. Label values come from closed enums, so the number of
/// series is bounded.
package final class PrometheusRegistry: MetricsFactory {
    private struct Contents {
        var series: [SeriesName: any Series] = [:]
        /// The series in the order of the page; nil until the page is asked for, and after a series was added.
        var ordered: [(key: SeriesName, value: any Series)]?
    }

    private let contents = Mutex(Contents())

    package init() {}

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, dimensions) { CounterSeries($0) }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, dimensions) { GaugeSeries($0) }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        find(label, dimensions) { SummarySeries($0) }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        find(label, dimensions) { HistogramSeries($0) }
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {
        contents.withLock { contents in
            contents.series = contents.series.filter { $0.value !== handler }
            contents.ordered = nil
        }
    }
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// The whole page.
    package func text() -> String {
        var text = ""
        var metric = ""
        for (name, series) in ordered {
            if name.metric != metric {
                metric = name.metric
                if let help = MetricHelp.sentences[metric] { text += "# HELP \(metric) \(help)\n" }
                text += "# TYPE \(metric) \(series.type)\n"
            }
            series.write(to: &text)
        }
        return text
    }

    private var ordered: [(key: SeriesName, value: any Series)] {
        contents.withLock { contents in
            let ordered = contents.ordered ?? contents.series.sorted { $0.key < $1.key }
            contents.ordered = ordered
            return ordered
        }
    }

    private func find<Kind: Series>(
        _ label: String, _ dimensions: [(String, String)], make: (SeriesName) -> Kind
    ) -> Kind {
        let name = SeriesName(label, dimensions)
        return contents.withLock { contents in
            if let known = contents.series[name] as? Kind { return known }
            let new = make(name)
            contents.series[name] = new
            contents.ordered = nil
            return new
        }
    }
}

struct SeriesName: Hashable, Comparable {
    let metric: String
    /// `name="value",…`
    private let labels: String

    init(_ metric: String, _ dimensions: [(String, String)]) {
        self.metric = metric
        labels = dimensions.map { "\($0.0)=\"\($0.1.escapedForPrometheus)\"" }.joined(separator: ",")
    }

    /// A line of the page up to its value.
    ///
    /// - Parameters:
    ///   - part: of a metric that has several lines, such as `_sum`.
    ///   - label: `name="value"`, beside those that the series has.
    func line(_ part: String = "", _ label: String = "") -> String {
        let all = labels.isEmpty || label.isEmpty ? labels + label : "\(labels),\(label)"
        return metric + part + (all.isEmpty ? " " : "{\(all)} ")
    }

    static func < (left: Self, right: Self) -> Bool { (left.metric, left.labels) < (right.metric, right.labels) }
}

extension String {
    fileprivate var escapedForPrometheus: String {
        replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
