import BelfryService
import Hummingbird
import Logging

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
