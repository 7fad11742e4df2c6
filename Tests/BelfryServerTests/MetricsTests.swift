import CoreMetrics
import Testing

@testable import BelfryServer

@Suite struct MetricsTests {
    private func lines(_ registry: PrometheusRegistry) -> Set<Substring> {
        Set(registry.text().split(separator: "\n"))
    }

    @Test func `a duration falls into its bucket and all above it`() {
        let registry = PrometheusRegistry()
        let timer = registry.makeTimer(label: "belfry_x_duration_seconds", dimensions: [("path", "/v1/push")])
        for milliseconds in [1, 7, 60_000] as [Int64] { timer.recordNanoseconds(milliseconds * 1_000_000) }
        let lines = lines(registry)
        #expect(lines.contains("# TYPE belfry_x_duration_seconds histogram"))
        let buckets = [("0.001", 1), ("0.005", 1), ("0.01", 2), ("30.0", 2), ("+Inf", 3)]
        for (bound, count) in buckets {
            let line = #"belfry_x_duration_seconds_bucket{path="/v1/push",le="\#(bound)"} \#(count)"#
            #expect(lines.contains(Substring(line)))
        }
        #expect(lines.contains(#"belfry_x_duration_seconds_count{path="/v1/push"} 3"#))
    }

    @Test(arguments: ["belfry_push_delivery_seconds", "belfry_batch_age_seconds", "belfry_schedule_late_seconds"])
    func `waits of hours differ from waits of a minute`(metric: String) {
        let registry = PrometheusRegistry()
        let timer = registry.makeTimer(label: metric, dimensions: [])
        for seconds in [61, 3_601] as [Int64] { timer.recordNanoseconds(seconds * 1_000_000_000) }
        let lines = lines(registry)
        #expect(lines.contains(Substring("\(metric)_bucket{le=\"300.0\"} 1")))
        #expect(lines.contains(Substring("\(metric)_bucket{le=\"21600.0\"} 2")))
    }

    @Test func `a gauge that nothing tells any more leaves the page`() {
        let registry = PrometheusRegistry()
        for name in ["belfry_x_days", "belfry_y_days"] { registry.makeMeter(label: name, dimensions: []).set(Int64(9)) }
        registry.destroyMeter(registry.makeMeter(label: "belfry_x_days", dimensions: []))
        let gauges = lines(registry).filter { !$0.hasPrefix("#") }
        #expect(gauges == ["belfry_y_days 9.0"])
    }

    @Test func `a metric that is made again is the same one`() {
        let registry = PrometheusRegistry()
        for _ in 0..<3 {
            registry.makeTimer(label: "belfry_x_seconds", dimensions: [("a", "b")]).recordNanoseconds(1)
        }
        #expect(lines(registry).contains(#"belfry_x_seconds_count{a="b"} 3"#))
    }
}
