import BelfryCore
import FoundationEssentials
import Hummingbird
import Metrics

extension PCFv1 {
    /// What senders ask for at `/v1/push`.
    struct Pushes: Sendable {
        private let desk: PushDesk
        private let clock: any WallClock
        private let options: Options
        private let accepted = Dictionary(
            uniqueKeysWithValues: Lane.allCases.map { ($0, Counter(metric: .pushes, [("lane", "\($0)")])) })

        init(store: any ApplicationStore & DeviceStore & PushStore, clock: any WallClock, options: Options) {
            desk = PushDesk(store: store)
            self.clock = clock
            self.options = options
        }

        func create(_ request: Request, for application: Application) async throws -> Response {
            let body = try PushRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
            switch body.due(at: clock.now, immediateWithin: options.sendsImmediatelyWithin) {
            case .now: return Self.receipt(try await send(body, for: application))
            case .later: throw Self.schedulingIsMissing
            }
        }

        private func send(_ body: PushRequest, for application: Application) async throws -> Push {
            let push = try await desk.send(body.order, for: application.key)
            accepted[push.lane]?.increment()
            return push
        }

        private static func receipt(_ push: Push) -> Response {
            var json = JSONWriter()
            json.object { json in json.uuid("receipt_id", push.receiptID) }
            return Response(json: json.buffer)
        }

        private static let schedulingIsMissing = APIError(
            .notImplemented,
            "scheduleAt or scheduleIn lies in the future: scheduling is not available in this version. "
                + "Send the push when it is due, without either field")
    }
}

extension PCFv1.PushRequest {
    var order: Order {
        Order(content: message, target: target, expiresAt: expiryTime.map(Instant.init(milliseconds:)))
    }

    enum Due: Sendable, Hashable {
        case now
        case later(Instant)
    }

    /// When the push goes out. What is due soon goes at once, and so does what was due in the past.
    func due(at now: Instant, immediateWithin: Duration) -> Due {
        let due: Instant
        if let scheduleAt {
            due = Instant(milliseconds: scheduleAt)
        } else if let scheduleIn {
            let (milliseconds, overflow) = scheduleIn.multipliedReportingOverflow(by: 1_000)
            due = overflow ? .distantFuture : now + .milliseconds(milliseconds)
        } else {
            return .now
        }
        return due <= now + immediateWithin ? .now : .later(due)
    }
}
