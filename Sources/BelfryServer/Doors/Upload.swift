import Hummingbird
import HummingbirdCore
import NIOCore

/// The body of a request that is answered while it is read, no faster than whoever answers takes it.
struct Upload {
    private typealias Producer = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Demand
    >

    /// Whether reading has to wait until `onDemand` is called, on the event loop.
    private(set) var isFull = false
    private let source: Producer.Source

    private init(source: Producer.Source) { self.source = source }

    /// What is read goes nowhere from when nobody holds the body any more.
    ///
    /// - Parameter onBegin: called on the event loop when somebody asks for the first piece.
    static func begin(
        on loop: any EventLoop, onBegin: (@Sendable () -> Void)? = nil, onDemand: @escaping @Sendable () -> Void
    ) -> (upload: Upload, body: RequestBody) {
        let producer = Producer.makeSequence(
            elementType: ByteBuffer.self, failureType: (any Error).self,
            backPressureStrategy: .init(lowWatermark: 2, highWatermark: 8), finishOnDeinit: true,
            delegate: Demand(loop: loop, onDemand: onDemand))
        let pieces = producer.sequence
        guard let onBegin else { return (Upload(source: producer.source), RequestBody(asyncSequence: pieces)) }
        let announced = Announced(base: pieces) { loop.execute(onBegin) }
        return (Upload(source: producer.source), RequestBody(asyncSequence: announced))
    }

    mutating func yield(_ bytes: ByteBuffer) { isFull = source.yield(bytes) == .stopProducing }

    /// Somebody waits for more.
    mutating func refill() { isFull = false }

    /// - Parameter error: why the rest does not come; nil at the end of the body.
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

/// A sequence that says when its first element is asked for.
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
