import Metrics

/// The metrics of this target. Labels come from closed sets: paths in the router's form, never as callers wrote them.
enum Metric: String {
    /// Requests answered, by `method`, `path` and `status`.
    case requests = "belfry_http_requests_total"
    /// The duration of a request, by `method`, `path` and the class of its `status`.
    case requestDuration = "belfry_http_request_duration_seconds"
    /// Requests refused because of their credentials.
    case authenticationFailures = "belfry_http_authentication_failures_total"
    /// Requests refused with a 429, by `kind`: a kind of caller, or `credentials`.
    case limited = "belfry_http_limited_total"
    /// Requests refused because a quota is used up, by `quota`.
    case quotaRefusals = "belfry_quota_refusals_total"
    /// Requests refused because their caller's share was in use, by `share`.
    case shareRefusals = "belfry_share_refusals_total"
    /// Readers of event streams.
    case eventReaders = "belfry_event_readers"
    /// Events that slow readers missed.
    case eventsLost = "belfry_events_lost_total"
    /// Devices registered or updated.
    case registrations = "belfry_registrations_total"
    /// Registrations whose `os` is not that of their platform.
    case mismatchedOS = "belfry_registrations_mismatched_os_total"
    /// Pushes accepted, by `lane`.
    case pushes = "belfry_pushes_accepted_total"
    /// Events that apps reported, by `result`.
    case events = "belfry_analytics_events_total"
    /// Reports of softphones, by `result`.
    case acrobitsReports = "belfry_acrobits_reports_total"
    /// Messages that the mediator was given, by the `code` of the answer.
    case acrobitsCalls = "belfry_acrobits_calls_total"
}

extension Metric {
    /// Makes the series that nothing else makes before they count, so that the page shows them from the start with 0.
    static func declare() {
        for quota in Quota.allCases { _ = Counter(metric: .quotaRefusals, [("quota", quota.rawValue)]) }
        _ = Counter(metric: .eventsLost)
    }
}

extension Counter {
    convenience init(metric: Metric, _ labels: [(String, String)] = []) {
        self.init(label: metric.rawValue, dimensions: labels)
    }
}

extension Meter {
    convenience init(metric: Metric) { self.init(label: metric.rawValue) }
}

extension Metrics.Timer {
    convenience init(metric: Metric, _ labels: [(String, String)] = []) {
        self.init(label: metric.rawValue, dimensions: labels)
    }
}
