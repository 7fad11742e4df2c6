import ServiceLifecycle

/// Waits until every listener is open, and reports that once.
///
/// A service of its own, since a listener accepts no connection before its callback on opening has returned: a client
/// that is told of it may call the server at once. See `OperationTests`, "a caller that is told that the server serves
/// is served at once".
struct ListenerGroup: Service {
    private let openings: AsyncStream<(name: String, address: String)>
    private let continuation: AsyncStream<(name: String, address: String)>.Continuation
    private let count: Int
    private let onAllOpen: @Sendable ([String: String]) async -> Void

    init(count: Int, onAllOpen: @escaping @Sendable ([String: String]) async -> Void) {
        (openings, continuation) = AsyncStream.makeStream(of: (name: String, address: String).self)
        self.count = count
        self.onAllOpen = onAllOpen
    }

    func opened(_ name: String, _ address: String) { continuation.yield((name, address)) }

    func run() async {
        await cancelWhenGracefulShutdown {
            var open: [String: String] = [:]
            for await (name, address) in openings {
                open[name] = address
                if open.count == count { return await onAllOpen(open) }
            }
        }
    }
}
