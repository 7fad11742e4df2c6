package import CoreMetrics
import Synchronization

/// Collects all metrics of the process and writes them as Prometheus text.
///
/// Source: Prometheus, "Exposition formats", text format 0.0.4. Label values come from closed enums, so the number of
/// series is bounded.
package final class PrometheusRegistry: MetricsFactory {
    private let series = Mutex<[SeriesName: any Series]>([:])

    package init() {}

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        find(label, dimensions) { CounterSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        find(label, dimensions) { GaugeSeries() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        find(label, dimensions) { SummarySeries() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        find(label, dimensions) { HistogramSeries(bounds: HistogramSeries.bounds(of: label)) }
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// The whole page.
    package func text() -> String {
        let all = series.withLock { $0 }.sorted { $0.key < $1.key }
        var text = ""
        var metric = ""
        for (name, series) in all {
            if name.metric != metric {
                metric = name.metric
                text += "# TYPE \(metric) \(series.type)\n"
            }
            series.write(name, to: &text)
        }
        return text
    }

    private func find<Kind: Series>(
        _ label: String, _ dimensions: [(String, String)], make: () -> Kind
    ) -> Kind {
        let name = SeriesName(label, dimensions)
        return series.withLock { series in
            if let known = series[name] as? Kind { return known }
            let new = make()
            series[name] = new
            return new
        }
    }
}

struct SeriesName: Hashable, Comparable {
    let metric: String
    /// `{name="value",…}`, or empty.
    let labels: String

    init(_ metric: String, _ dimensions: [(String, String)]) {
        self.metric = metric
        let pairs = dimensions.map { "\($0.0)=\"\($0.1.escapedForPrometheus)\"" }
        labels = pairs.isEmpty ? "" : "{" + pairs.joined(separator: ",") + "}"
    }

    /// The labels with an additional one.
    func labels(and label: String, _ value: String) -> String {
        let last = "\(label)=\"\(value)\"}"
        return labels.isEmpty ? "{" + last : labels.dropLast() + "," + last
    }

    static func < (left: Self, right: Self) -> Bool {
        (left.metric, left.labels) < (right.metric, right.labels)
    }
}

extension String {
    fileprivate var escapedForPrometheus: String {
        replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
