import Hummingbird
import Logging

extension PCF {
    /// Handlers of `/v1/schedules`: the waiting pushes. Sent ones are not listed, nor recurring ones, which the API cannot express.
    struct Schedules: Sendable {
        let store: any Store
        let pushService: PushService
        let clock: any WallClock
        let options: Options
        private let mistakes = CallerMistakes()

        static let notFound = APIError(
            .notFound, "No schedule with this id waits: it is unknown, or was sent, cancelled or expired")

        /// The number of schedules read at once. Each may name 4,096 devices and contain 64 KiB of content, and all are
        /// in memory while a client does not read its response.
        private static let pageSize = 8

        /// All schedules, in a response that is written while they are read, since it may be of any length.
        func list(for application: Application) async throws -> Response {
            let first = try await store.schedules(of: application.key, after: nil, limit: Self.pageSize)
            let body = ResponseBody { [store] writer in
                var page = first
                var separator = "["
                while let last = page.last {
                    for schedule in page where !schedule.isRepeated {
                        try await writer.write(ByteBuffer(string: separator))
                        try await writer.write(schedule.json())
                        separator = ","
                    }
                    try Task.checkCancellation()
                    page = try await store.schedules(of: application.key, after: last, limit: Self.pageSize)
                }
                try await writer.write(ByteBuffer(string: separator == "[" ? "[]" : "]"))
                try await writer.finish(nil)
            }
            return Response(status: .ok, headers: [.contentType: Response.jsonType], body: body)
        }

        func show(_ key: Key<Schedule>, of application: Application) async throws -> Response {
            let schedule = try await store.schedule(key, of: application.key)
            guard let schedule, schedule.ending == nil, !schedule.isRepeated else { throw Self.notFound }
            return Response(json: schedule.json())
        }

        func update(
            _ key: Key<Schedule>, _ request: Request, of application: Application, _ logger: Logger
        ) async throws -> Response {
            let body = try await request.push(atMost: options.bodyBytesMax, for: application) {
                bytes, unknown throws(InvalidInput) in try PushBody.parse(bytes, unknown, isChange: true)
            }
            let old = try await store.schedule(key, of: application.key)
            let change = try body.change(of: old?.pushRequest, at: clock.now)
            guard old?.isRepeated != true else { throw Self.notFound }
            do {
                let changed = try await pushService.change(key, of: application.key, change)
                guard let changed else { throw Self.notFound }
                return mistakes.tell(
                    body.ignored, of: "app \(application.uuid.lowercased)", in: Response(json: changed.json()), logger)
            } catch let error as InvalidInput {
                throw error.renamed(["expires_at": "expiryTime"])
            }
        }

        func cancel(_ key: Key<Schedule>, of application: Application) async throws -> Response {
            guard try await store.cancel(key, of: application.key) else { throw Self.notFound }
            return Response(status: .noContent)
        }
    }
}

extension PCFRoutes {
    /// `/v1/schedules`, and the singular that the documentation of pushes uses.
    func addSchedules(to router: Router<APIContext>) {
        for path in ["v1/schedules", "v1/schedule"] {
            router.serve(
                RouterPath(path),
                [
                    .get: asApplicationExporting { [schedules] _, application in
                        try await schedules.list(for: application)
                    }
                ])
            router.serve(
                RouterPath(path + "/:schedule_id"),
                [
                    .get: onSchedule { _, key, application, _ in try await schedules.show(key, of: application) },
                    .put: onSchedule { request, key, application, logger in
                        try await schedules.update(key, request, of: application, logger)
                    },
                    .delete: onSchedule { _, key, application, _ in try await schedules.cancel(key, of: application) },
                ])
        }
    }

    /// Throws a 404 for a malformed id.
    private func onSchedule(
        _ handler: @escaping @Sendable (Request, Key<Schedule>, Application, Logger) async throws -> Response
    ) -> Router<APIContext>.Handler {
        { [authenticator, shares, options] request, context in
            let application = try await authenticator.application(of: request, context)
            guard let key = context.parameters.get("schedule_id").flatMap(Key<Schedule>.init(id:)) else {
                throw PCF.Schedules.notFound
            }
            return try await shares.uploading(
                request, atMost: options.bodyBytesMax, for: ShareHolder(application)
            ) { try await handler(request, key, application, context.logger) }
        }
    }
}
