import BelfryService
import Hummingbird
import Metrics

extension PCF {
    /// Handlers of `/v1/analytics`.
    struct Analytics: Sendable {
        private let store: any AnalyticsStore
        private let options: Options
        private let counted = Counter(metric: .events, [("result", "counted")])
        private let repeated = Counter(metric: .events, [("result", "repeated")])
        private let ignored = Counter(metric: .events, [("result", "ignored")])
        private let unusable = Counter(metric: .events, [("result", "unusable")])

        init(store: any AnalyticsStore, options: Options) {
            self.store = store
            self.options = options
        }

        func record(_ request: Request, on platform: Platform) async throws -> Response {
            let body = try AnalyticsRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
            let tally = try await store.record(body.events, on: platform, lateMax: options.eventsLateMax)
            counted.increment(by: tally.counted)
            repeated.increment(by: tally.repeated)
            ignored.increment(by: tally.ignored)
            unusable.increment(by: body.unusableCount)
            var json = JSONWriter()
            json.object { _ in }
            return Response(json: json.buffer)
        }
    }
}
