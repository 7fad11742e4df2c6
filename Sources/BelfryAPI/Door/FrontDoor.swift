package import BelfryCore
package import Hummingbird

/// What every request of every API passes, from the outside in.
package enum FrontDoor {
    /// A router with the trace, the meter, the headers and the error pages in place. Routes are added behind them.
    package static func router(clock: any WallClock, isSecure: Bool = false) -> Router<APIContext> {
        Router(context: APIContext.self)
            .add(middleware: CallersTrace())
            .add(middleware: RequestMeter())
            .add(middleware: SecurityHeaders(isSecure: isSecure))
            .add(middleware: ErrorPages(clock: clock))
    }
}
