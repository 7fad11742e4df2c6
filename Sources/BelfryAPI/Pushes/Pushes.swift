import BelfryService
import FoundationEssentials
import Hummingbird
import Logging

extension PCF {
    /// Handlers of `/v1/push`.
    struct Pushes: Sendable {
        private let pushService: PushService
        private let clock: any WallClock
        private let options: Options
        private let accepted = AcceptedPushes()
        private let mistakes = CallerMistakes()

        init(pushService: PushService, clock: any WallClock, options: Options) {
            self.pushService = pushService
            self.clock = clock
            self.options = options
        }

        func create(_ request: Request, for application: Application, _ logger: Logger) async throws -> Response {
            let body = try await request.push(atMost: options.bodyBytesMax, for: application) {
                bytes, unknown throws(InvalidInput) in try PushBody.parse(bytes, unknown)
            }
            var ignored = body.ignored
            let response = try await create(body, for: application, &ignored, logger)
            return mistakes.tell(ignored, of: "app \(application.uuid.lowercased)", in: response, logger)
        }

        private func create(
            _ body: PushBody, for application: Application, _ ignored: inout IgnoredFields, _ logger: Logger
        ) async throws -> Response {
            let now = clock.now
            // A push that is due soon, or was due in the past, is sent at once.
            if let dueAt = try body.times.due(at: now), dueAt > now + options.sendsImmediatelyWithin {
                try IdempotencyMiddleware.refuseRepetition()
                let schedule = try await pushService.schedule(body.pushRequest, at: dueAt, for: application.key)
                ignored.remark(tooLarge: schedule.tooLarge)
                return Self.reply { json in json.string("schedule_id", schedule.key.id) }
            }
            let push = try await pushService.send(body.pushRequest, for: application.key)
            accepted.note(push, logger)
            ignored.remark(tooLarge: push.tooLarge)
            // Senders to users and devices know their recipients, and are many.
            if !body.pushRequest.target.topics.isEmpty,
                let names = await pushService.unmatchedNames(of: push, body.pushRequest.target)
            {
                ignored.remark(withoutSubscribers: names.topics)
            }
            return Self.reply { json in json.uuid("receipt_id", push.receiptID) }
        }

        private static func reply(_ member: (inout JSONWriter) -> Void) -> Response {
            var json = JSONWriter()
            json.object(member)
            return Response(json: json.buffer)
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
