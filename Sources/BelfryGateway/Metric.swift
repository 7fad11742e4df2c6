import Metrics

/// The metrics of the gateway; docs/Metrics.md explains them.
enum Metric {
    static func records(_ count: Int, isAccepted: Bool) {
        Counter(label: "belfry_gateway_records_total", dimensions: [("result", isAccepted ? "accepted" : "refused")])
            .increment(by: count)
    }
}
