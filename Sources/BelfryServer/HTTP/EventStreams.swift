import BelfryAPI
import ServiceLifecycle

/// Runs the event streams, and ends them first when the server stops, since they do not end by themselves.
struct EventStreams: Service {
    let hub: EventHub

    func run() async {
        await withGracefulShutdownHandler {
            await hub.run()
        } onGracefulShutdown: {
            hub.close()
        }
    }
}
