import Logging

/// Leaves out the lines that libraries log about their own cancellation: a server that cannot start logs that once, with its reason.
struct CancellationFilter: WrappingLogHandler {
    var base: any LogHandler

    init(_ base: any LogHandler) { self.base = base }

    func log(event: LogEvent) {
        guard !"\(event.message)".contains("CancellationError") else { return }
        base.log(event: event)
    }
}
