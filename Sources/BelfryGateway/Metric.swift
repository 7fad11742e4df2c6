import Metrics

/// The metrics of the gateway; docs/Metrics.md explains them.
package enum GatewayMetric {
    static func records(_ count: Int, isAccepted: Bool) {
        Counter(label: "belfry_gateway_records_total", dimensions: [("result", isAccepted ? "accepted" : "refused")])
            .increment(by: count)
    }

    /// Makes all series, so that the page shows them from the start with 0, on servers without a gateway too.
    package static func declare() {
        for isAccepted in [true, false] { records(0, isAccepted: isAccepted) }
    }
}
