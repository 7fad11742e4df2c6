import FoundationEssentials
import Hummingbird
import Logging
import Metrics

extension PCF {
    /// Handlers of `/v1/push`.
    struct Pushes: Sendable {
        let pushService: PushService
        let clock: any WallClock
        let options: Options
        private let accepted = AcceptedPushes()
        private let mistakes = CallerMistakes()

        func create(_ request: Request, for application: Application, _ logger: Logger) async throws -> Response {
            let body = try await request.push(atMost: options.bodyBytesMax, for: application) {
                bytes, unknown throws(InvalidInput) in try PushBody.parse(bytes, unknown)
            }
            var ignored = body.ignored
            let (now, pushRequest) = (clock.now, try body.pushRequest())
            let dueAt = try body.due(at: now)
            // Schedules take no idempotent id. One of an earlier run may have been due later.
            if dueAt != nil { try IdempotencyMiddleware.refuseRepetition() }
            let response: Response
            // A push that is due soon, or was due in the past, is sent at once.
            if let dueAt, dueAt > now + options.sendsImmediatelyWithin {
                let schedule = try await pushService.schedule(pushRequest, at: dueAt, for: application.key)
                ignored.remark(tooLarge: schedule.tooLarge)
                response = .object { json in json.string("schedule_id", schedule.key.id) }
            } else {
                let push = try await pushService.send(pushRequest, for: application.key)
                accepted.note(push, logger)
                ignored.remark(tooLarge: push.tooLarge)
                // Senders to users and devices know their recipients, and are many.
                if !pushRequest.target.topics.isEmpty,
                    let names = await pushService.unmatchedNames(of: push, pushRequest.target)
                {
                    ignored.remark(withoutSubscribers: names.topics)
                }
                response = .object { json in json.uuid("receipt_id", push.receiptID) }
            }
            return mistakes.tell(ignored, of: "app \(application.uuid.lowercased)", in: response, logger)
        }
    }
}

extension Request {
    /// Reads a request that sends: what of it nothing understands refuses it, unless the application ignores such things.
    func push<Body>(
        atMost bytesMax: Int, for application: BelfryService.Application,
        parse: ([UInt8], PCF.UnknownFields) throws(InvalidInput) -> Body
    ) async throws -> Body {
        let unknown = PCF.UnknownFields(of: application)
        if unknown == .refused { try refuseParameters() }
        return try parse(try await bytes(atMost: bytesMax), unknown)
    }

    /// Throws where the path is followed by parameters, which nothing reads.
    func refuseParameters() throws(InvalidInput) {
        guard let name = uri.queryParameters.first.map({ String($0.key) }) else { return }
        throw InvalidInput.unknown("'\(name)'", name, notOf: "a parameter of this request", known: []).withNothingSent
    }
}

/// Writes a line for each accepted push, which leads from the trace of a caller to the log of the delivery.
struct AcceptedPushes: Sendable {
    func note(_ push: Push, _ logger: Logger) {
        logger.debug(
            "push accepted",
            metadata: [
                "push.key": "\(push.key)", "push.receipt_id": "\(push.receiptID.lowercased)",
                "push.lane": "\(push.lane)",
            ])
    }
}

/// Counts accepted pushes by lane.
package struct AcceptedPushCounter: PushObserver {
    private let counters = Dictionary(
        uniqueKeysWithValues: Lane.allCases.map { ($0, Counter(metric: .pushes, [("lane", "\($0)")])) })

    package init() {}

    package func accepted(_ push: PushHead) { counters[push.lane]?.increment() }

    package func pushMayHaveChanged(_ push: PushHead) {}
}
