import BelfryCore
package import Hummingbird

/// What travels with a request. Who calls is not in it: `Authenticator` returns that as a value, so that no handler can
/// forget to ask.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// In this room an application is what a team registers its devices under, not what Hummingbird runs.
typealias Application = BelfryCore.Application
