package import Hummingbird
import NIOCore

/// The context of a request. The caller is not in it: `Authenticator` returns that as a value, so that no handler can
/// forget to ask.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The other end of the connection: the caller, or a proxy before it (`RequestLimiter.address`); nil where there is
    /// none, as in tests.
    let peer: SocketAddress?
    /// The end of the connection that is this server; nil where there is none, as in tests.
    let local: SocketAddress?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress
        local = source.channel.localAddress
    }
}
