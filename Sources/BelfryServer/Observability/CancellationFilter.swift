import Logging

/// Leaves out what libraries log of their own cancellation: when a server cannot start, that is told once, with its reason.
struct CancellationFilter: WrappingLogHandler {
    var base: any LogHandler

    init(_ base: any LogHandler) { self.base = base }

    func log(event: LogEvent) {
        guard !"\(event.message)".contains("CancellationError") else { return }
        base.log(event: event)
    }
}
