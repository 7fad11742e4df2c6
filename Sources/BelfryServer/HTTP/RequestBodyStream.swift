import BelfryService
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle

/// The body of a request that is answered while it is read, no faster than its handler reads it.
struct RequestBodyStream {
    private typealias Producer = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Demand
    >

    private let source: Producer.Source

    /// Received bytes are discarded once no handler holds the body any more.
    ///
    ///   - onBegin: called on the event loop when the first piece is requested.
    ///   - onDemand: called on the event loop when the body accepts more again, after it was full.
    static func begin(
        on loop: any EventLoop, onBegin: (@Sendable () -> Void)? = nil, onDemand: @escaping @Sendable () -> Void
    ) -> (stream: RequestBodyStream, body: RequestBody) {
        let producer = Producer.makeSequence(
            elementType: ByteBuffer.self, failureType: (any Error).self,
            backPressureStrategy: .init(lowWatermark: 8, highWatermark: 32), finishOnDeinit: true,
            delegate: Demand(loop: loop, onDemand: onDemand))
        let pieces = producer.sequence
        guard let onBegin else {
            return (RequestBodyStream(source: producer.source), RequestBody(asyncSequence: pieces))
        }
        let announced = Announced(base: pieces) { loop.execute(onBegin) }
        return (RequestBodyStream(source: producer.source), RequestBody(asyncSequence: announced))
    }

    enum BackPressure { case produceMore, stopProducing }

    func yield(_ bytes: ByteBuffer) -> BackPressure {
        source.yield(bytes) == .stopProducing ? .stopProducing : .produceMore
    }

    /// - Parameter error: why the rest will not arrive; nil at the end of the body.
    func finish(_ error: (any Error)? = nil) {
        if let error { source.finish(error) } else { source.finish() }
    }

    private struct Demand: NIOAsyncSequenceProducerDelegate {
        let loop: any EventLoop
        let onDemand: @Sendable () -> Void

        func produceMore() { loop.execute(onDemand) }

        func didTerminate() { loop.execute(onDemand) }
    }
}

/// A sequence that reports when its first element is requested.
private struct Announced<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    typealias Element = Base.Element
    let base: Base
    let onBegin: @Sendable () -> Void

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), onBegin: onBegin) }

    struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        var onBegin: (@Sendable () -> Void)?

        mutating func next() async throws -> Element? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Element? {
            onBegin?()
            onBegin = nil
            return try await base.next(isolation: actor)
        }
    }
}

/// Runs the event streams, and ends them first when the server stops, since they do not end by themselves.
struct EventStreams: Service {
    let hub: EventHub
    let feeds: WebhookService

    func run() async {
        await withGracefulShutdownHandler {
            await hub.run()
        } onGracefulShutdown: {
            hub.close()
            feeds.stop.close()
        }
    }
}
