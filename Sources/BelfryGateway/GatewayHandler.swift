import NIOCore
import NIOSSL
import NIOTLS

/// Events of a connection, in order, from its channel handler to the task that serves it.
enum GatewayInbound: Sendable {
    /// The handshake is done: the certificate of the sender in DER, if it can be read.
    case certificate([UInt8])
    case records([GatewayRecord])
    /// Requests of a sender that speaks HTTP/2.
    case requests([GatewayRequest])
    case fault(GatewayDecoder.Fault)
    /// The server is to stop: nothing comes after this.
    case stopping
    /// The sender has closed its side, and may still read.
    case finished
}

/// Commands to a connection's handler from the task that serves the connection.
enum GatewayCommand: Sendable {
    /// The certificate is good: records may come.
    case admit
    /// The number of records that are durable, or were refused.
    case settled(Int)
    /// Says a last word, if there is one, and closes so that the sender can read it.
    case end(GatewayError?)
    /// Takes no more records.
    case stop
    /// Answers a request of HTTP/2, with the id of its notification.
    case respond(GatewayResponse, id: String, stream: Int32)
}

/// Splits a connection into records, and reads no more while many of them are not durable yet.
///
/// What it holds at most: a window of records, one unfinished record and one read of the connection.
final class GatewayHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = GatewayInbound
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private enum State { case handshaking, judged, open, stopping, ended }

    private let options: GatewayOptions
    private let held: HeldBytes.Share
    private var state = State.handshaking
    private var decoder = GatewayDecoder()
    private var hasFault = false
    /// Whether the sender has closed its side, and whether that was passed on behind its last record.
    private var (hasInputEnded, isEndPassed) = (false, false)
    /// Records that were passed on and are not settled.
    private var outstanding = 0
    /// Their bytes, as `held` counts them.
    private var outstandingBytes = 0
    private var isReadHeld = false
    private var context: ChannelHandlerContext?
    private var deadline: Scheduled<Void>?
    /// When the connection is closed unless the record that has begun is whole.
    private var recordDeadline: Scheduled<Void>?

    init(_ options: GatewayOptions, held: HeldBytes.Share) {
        self.options = options
        self.held = held
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        close(after: options.handshakeTimeout)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        recordDeadline?.cancel()
        held.release(outstandingBytes)
        outstandingBytes = 0
        self.context = nil
    }

    // MARK: What comes in

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent, state == .handshaking {
            state = .judged
            deadline?.cancel()
            context.triggerUserOutboundEvent(DeferredEOFHandler.HandshakeIsOver(), promise: nil)
            let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
            pass(.certificate((try? certificate?.toDERBytes()) ?? []), context)
        } else if case .read? = event as? IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else if case .inputClosed? = event as? ChannelEvent {
            // Passed on as it is, it would end our side too.
            return endInput(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What came with the end of the handshake waits until the certificate is known.
        guard state == .open || state == .judged else { return }
        decoder.append(unwrapInboundIn(data).readableBytesView)
        decode(context)
    }

    /// A sender that closes its side without a word of TLS may still read.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        context.close(promise: nil)
    }

    private func decode(_ context: ChannelHandlerContext) {
        guard state == .open, !hasFault else { return }
        var records: [GatewayRecord] = []
        do {
            while outstanding + records.count < options.window, let record = try decoder.next() {
                records.append(record)
            }
            pass(records, context)
            passEnd(context)
            limitRecord(isNew: !records.isEmpty)
        } catch {
            hasFault = true
            recordDeadline?.cancel()
            pass(records, context)
            pass(.fault(error), context)
        }
    }

    /// A record that has begun has to be whole in time, however often a byte of it comes.
    private func limitRecord(isNew: Bool) {
        let isBegun = decoder.heldBytes > 0 && outstanding < options.window
        guard !isBegun || isNew || recordDeadline == nil else { return }
        recordDeadline?.cancel()
        recordDeadline = nil
        guard isBegun else { return }
        recordDeadline = context?.eventLoop.assumeIsolated().scheduleTask(in: options.recordTimeout) { [weak self] in
            self?.endRecord()
        }
    }

    /// A sender whose bytes we do not read is not late.
    private func endRecord() {
        recordDeadline = nil
        if mayRead { context?.close(promise: nil) } else { limitRecord(isNew: false) }
    }

    /// Later, since TLS tells of the end before it passes on what it has just read.
    private func endInput(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { [weak self] in
            guard let self, let context = self.context else { return }
            hasInputEnded = true
            decode(context)
        }
    }

    /// With room in the window there is no whole record left.
    private func passEnd(_ context: ChannelHandlerContext) {
        guard hasInputEnded, !isEndPassed, outstanding < options.window else { return }
        isEndPassed = true
        pass(.finished, context)
    }

    private func pass(_ records: [GatewayRecord], _ context: ChannelHandlerContext) {
        guard !records.isEmpty else { return }
        outstanding += records.count
        let bytes = records.reduce(0) { $0 + $1.heldBytes }
        outstandingBytes += bytes
        held.hold(bytes)
        pass(.records(records), context)
    }

    private func pass(_ event: GatewayInbound, _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(event))
        context.fireChannelReadComplete()
    }

    // MARK: When it is read

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadHeld = true }
    }

    private var mayRead: Bool {
        switch state {
        case .handshaking, .ended: true
        case .judged, .stopping: false
        case .open: !hasFault && (outstanding == 0 || outstanding < options.window && !held.isFull)
        }
    }

    private func readIfHeld(_ context: ChannelHandlerContext) {
        guard isReadHeld, mayRead else { return }
        isReadHeld = false
        context.read()
    }

    // MARK: Commands

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let command = event as? GatewayCommand else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        switch command {
        case .admit where state == .judged:
            state = .open
            decode(context)
        case .settled(let count): settle(count, context)
        case .stop: stop(context)
        case .end(let error): end(error, context)
        default: break
        }
        readIfHeld(context)
        promise?.succeed()
    }

    private func settle(_ count: Int, _ context: ChannelHandlerContext) {
        outstanding -= count
        if outstanding == 0 {
            held.release(outstandingBytes)
            outstandingBytes = 0
        }
        decode(context)
    }

    private func stop(_ context: ChannelHandlerContext) {
        switch state {
        case .open:
            state = .stopping
            pass(.stopping, context)
        case .handshaking, .judged: context.close(promise: nil)
        case .stopping, .ended: return
        }
    }

    /// One write, then the end of our side; what the sender still writes is read and dropped for a while, since a close with
    /// unread bytes would destroy the word on its way. Source: java-apns, ApnsServerSimulator.fail.
    private func end(_ error: GatewayError?, _ context: ChannelHandlerContext) {
        guard state != .ended else { return }
        state = .ended
        if let error {
            context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: error.bytes)), promise: nil)
        }
        context.close(mode: .output, promise: nil)
        close(after: options.drain)
    }

    private func close(after time: TimeAmount) {
        deadline?.cancel()
        deadline = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            self?.context?.close(promise: nil)
        }
    }
}

extension GatewayRecord {
    /// About what it takes in memory.
    fileprivate var heldBytes: Int { token.count + payload.count + 128 }
}
