import Logging
import Metrics
import NIOCore
import SystemPackage

/// The metrics of the listeners; docs/Metrics.md explains them. A `listener` is `http` or `management`.
enum Metric {
    static func connections(_ listener: String) -> Meter {
        Meter(label: "belfry_connections_open", dimensions: [("listener", listener)])
    }

    static func refusals(_ listener: String, _ reason: String) -> Counter {
        Counter(label: "belfry_connections_refused_total", dimensions: [("listener", listener), ("reason", reason)])
    }

    static func acceptFailures(_ listener: String) -> Counter {
        Counter(label: "belfry_accept_failures_total", dimensions: [("listener", listener)])
    }

    static func spans(_ outcome: SpanOutcome) -> Counter {
        Counter(label: "belfry_spans_total", dimensions: [("outcome", outcome.rawValue)])
    }

    /// - Parameter direction: `in` or `out`.
    static func bufferedBytes(_ listener: String, _ direction: String) -> Meter {
        Meter(
            label: "belfry_connections_buffered_bytes", dimensions: [("listener", listener), ("direction", direction)])
    }

    /// The delay with which a loop runs a due task.
    static func eventLoopLag(_ loop: Int) -> Metrics.Timer {
        Metrics.Timer(label: "belfry_event_loop_lag_seconds", dimensions: [("loop", String(loop))])
    }

    static func certificateDays(_ listener: String) -> Meter {
        Meter(label: "belfry_tls_certificate_days", dimensions: [("listener", listener)])
    }

    static func certificateReloads(_ listener: String, _ outcome: String) -> Counter {
        Counter(label: "belfry_tls_reloads_total", dimensions: [("listener", listener), ("outcome", outcome)])
    }

    static func storeWritesWaiting(_ store: String) -> Meter {
        Meter(label: "belfry_store_writes_waiting", dimensions: [("store", store)])
    }

    static func storeTransactionSeconds(_ store: String) -> Metrics.Timer {
        Metrics.Timer(label: "belfry_store_transaction_seconds", dimensions: [("store", store)])
    }

    /// Registrations that an old server will never hear of.
    static func unmirrored() -> Counter { Counter(label: "belfry_mirror_dropped_total") }

    /// The number of nodes, as counted by this node.
    static func nodes() -> Meter { Meter(label: "belfry_nodes") }
    /// Silent, and not deregistered.
    static func nodesGone() -> Meter { Meter(label: "belfry_nodes_gone") }

    /// Not mended or written off yet.
    static func damagedBatches() -> Meter { Meter(label: "belfry_batches_damaged") }
    static func damagedFanOuts() -> Meter { Meter(label: "belfry_fan_outs_damaged") }

    /// Made as metrics are declared, or with the first line that is dropped.
    static let logLinesDropped = Counter(label: "belfry_log_lines_dropped_total")

    /// Makes the series that nothing else makes before they change, so that the page shows them from the start with 0.
    static func declare() {
        for listener in ["http", "management", "gateway", "dashboard"] {
            for outcome in ["taken", "refused"] { _ = certificateReloads(listener, outcome) }
        }
        logLinesDropped.increment(by: 0)
        for outcome in SpanOutcome.allCases { spans(outcome).increment(by: 0) }
        nodes().set(1)
        nodesGone().set(0)
        damagedBatches().set(0)
        damagedFanOuts().set(0)
    }

    /// The smallest value of all platforms.
    static func credentialsDays() -> Meter { Meter(label: "belfry_credentials_days") }
}
