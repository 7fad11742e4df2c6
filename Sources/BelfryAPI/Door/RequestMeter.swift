import HTTPTypes
import Hummingbird
import Logging
import Metrics
import Synchronization

/// Counts, times and logs every request; never a secret, a token or a payload.
struct RequestMeter: Sendable {
    private let book = Book()

    func note(_ request: Request, _ context: APIContext, _ response: Response, since start: ContinuousClock.Instant) {
        let duration = start.duration(to: .now)
        let path = context.endpointPath ?? "none"
        book.page(method: request.method, path: path, status: response.status).note(duration)
        context.logger.debug(
            "request answered",
            metadata: [
                "http.method": "\(request.method)", "http.path": "\(path)", "http.status": "\(response.status.code)",
                "http.seconds": "\(duration)",
            ])
    }
}

/// The meters made so far. They are few: methods, paths and statuses come from closed sets.
private final class Book: Sendable {
    private let pages = Mutex<[Key: Page]>([:])

    struct Key: Hashable {
        let method: String
        let path: String
        let status: Int
    }

    struct Page: Sendable {
        let count: Counter
        let seconds: Metrics.Timer

        func note(_ duration: Duration) {
            count.increment()
            let (seconds, attoseconds) = duration.components
            self.seconds.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }
    }

    func page(method: HTTPRequest.Method, path: String, status: HTTPResponse.Status) -> Page {
        let key = Key(method: method.label, path: path, status: status.code)
        return pages.withLock { pages in
            if let page = pages[key] { return page }
            let labels = [("method", key.method), ("path", path)]
            let page = Page(
                count: Counter(metric: .requests, labels + [("status", String(key.status))]),
                seconds: Metrics.Timer(metric: .requestDuration, labels + [("status", "\(status.code / 100)xx")]))
            pages[key] = page
            return page
        }
    }
}

extension HTTPRequest.Method {
    /// A caller may make up a method; a label must not grow with that.
    fileprivate var label: String {
        switch self {
        case .get, .post, .put, .delete, .head, .options, .patch: rawValue
        default: "other"
        }
    }
}
