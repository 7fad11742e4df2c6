import HTTPTypes
import Hummingbird
import Logging
import Metrics
import Synchronization

/// Counts, times and logs every request; never a secret, a token or a payload.
struct RequestMeter: Sendable {
    private let routeMeters = RouteMeters()

    func note(_ request: Request, _ context: APIContext, _ response: Response, since start: ContinuousClock.Instant) {
        let duration = start.duration(to: .now)
        let path = context.endpointPath ?? "none"
        routeMeters.meters(method: request.method, path: path, status: response.status).note(duration)
        context.logger.debug(
            "request answered",
            metadata: [
                "http.method": "\(request.method)", "http.path": "\(path)", "http.status": "\(response.status.code)",
                "http.seconds": "\(duration)",
            ])
    }
}

/// The meters made so far. They are few: methods, paths and statuses come from closed sets.
private final class RouteMeters: Sendable {
    private let known = Mutex<[Key: Meters]>([:])

    struct Key: Hashable {
        let method: String
        let path: String
        let status: Int
    }

    struct Meters: Sendable {
        let count: Counter
        let seconds: Metrics.Timer

        func note(_ duration: Duration) {
            count.increment()
            let (seconds, attoseconds) = duration.components
            self.seconds.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }
    }

    func meters(method: HTTPRequest.Method, path: String, status: HTTPResponse.Status) -> Meters {
        let key = Key(method: method.label, path: path, status: status.code)
        return known.withLock { known in
            if let meters = known[key] { return meters }
            let labels = [("method", key.method), ("path", path)]
            let meters = Meters(
                count: Counter(metric: .requests, labels + [("status", String(key.status))]),
                seconds: Metrics.Timer(metric: .requestDuration, labels + [("status", "\(status.code / 100)xx")]))
            known[key] = meters
            return meters
        }
    }
}

extension HTTPRequest.Method {
    /// A caller may invent a method; labels must stay bounded.
    fileprivate var label: String {
        switch self {
        case .get, .post, .put, .delete, .head, .options, .patch: rawValue
        default: "other"
        }
    }
}
