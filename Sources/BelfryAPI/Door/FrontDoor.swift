package import BelfryCore
package import Hummingbird

/// What every request of every API passes, from the outside in.
package enum FrontDoor {
    /// A router with the meter, the headers and the error pages in place. Routes are added behind them.
    package static func router(clock: any WallClock) -> Router<APIContext> {
        Router(context: APIContext.self)
            .add(middleware: RequestMeter())
            .add(middleware: SecurityHeaders())
            .add(middleware: ErrorPages(clock: clock))
    }
}
