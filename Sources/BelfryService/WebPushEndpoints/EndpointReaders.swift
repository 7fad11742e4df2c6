import ServiceLifecycle
import Synchronization

/// The devices that wait for messages on this node, each with one request: a second one ends the first.
package final class EndpointReaders: Service {
    private let signals = Mutex<[Key<Device>: WakeSignal]>([:])
    /// Closed when the node stops, which ends all waits.
    private let stop = WakeSignal()

    init() {}

    package func run() async {
        await withGracefulShutdownHandler {
            await stop.wait()
        } onGracefulShutdown: {
            self.close()
        }
    }

    func close() {
        stop.close()
        for signal in signals.withLock({ Array($0.values) }) { signal.close() }
    }

    /// The signal of a device that begins to wait: raised when a message was stored for it, closed when it should wait no more.
    func enter(_ device: Key<Device>) -> WakeSignal {
        let signal = WakeSignal()
        signals.withLock { $0.updateValue(signal, forKey: device) }?.close()
        if stop.isClosed { signal.close() }
        return signal
    }

    func leave(_ device: Key<Device>, _ signal: WakeSignal) {
        signals.withLock { if $0[device] === signal { $0[device] = nil } }
    }

    func wake(_ device: Key<Device>) { signals.withLock { $0[device] }?.raise() }
}
