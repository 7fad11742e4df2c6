import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One HTTP/1.1 connection of a sender: a request at a time, answered by the simulated service.
final class HTTP1Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let handler: ServiceHandler
    private let ordinal: Int
    private let service: any SimulatedService
    private var compiled = CompiledServiceScript()
    private var scriptVersion = 0
    private var requestsSeen = 0
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var stickyAnswer: ScriptedAnswer?
    private var isOver = false

    init(handler: ServiceHandler, ordinal: Int, service: any SimulatedService) {
        self.handler = handler
        self.ordinal = ordinal
        self.service = service
    }

    func handlerAdded(context: ChannelHandlerContext) {
        handler.ledger.recordConnection { $0.open += 1 }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isOver = true
        handler.ledger.recordConnection {
            $0.open -= 1
            $0.closed += 1
        }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            if head.headers["expect"].contains(where: { $0.lowercased() == "100-continue" }) {
                context.writeAndFlush(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
            }
        case .body(let bytes):
            if body.count <= ServiceRequest.bodyBytesMax { body.append(contentsOf: bytes.readableBytesView) }
        case .end:
            guard let head else { return }
            let request = ServiceRequest(head, body: body)
            body = []
            take(request, isKeptAlive: head.isKeepAlive, context)
        }
    }

    /// Errors of TLS and TCP are expected in simulators: nothing to report, the connection is over.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func take(_ request: ServiceRequest, isKeptAlive: Bool, _ context: ChannelHandlerContext) {
        requestsSeen += 1
        if let newer = handler.currentScript.compiled(newerThan: &scriptVersion) { compiled = newer }
        let occasion = ArmedServiceFault.Occasion(connection: ordinal, request: requestsSeen, path: request.path)
        let validated = handler.validate(
            request, occasion, compiled, by: service, insteadOfScript: stickyAnswer.map { .init(answer: $0) })
        if let answer = validated.effects.sticky { stickyAnswer = answer }
        let isTold = validated.effects.ending?.told ?? (validated.effects.goAway?.leavesRequest != true)
        if isTold { handler.tell(validated, request.fields) }
        if let ending = validated.effects.ending { return end(validated, by: ending, context) }
        let keepsOn = isKeptAlive && validated.effects.goAway == nil
        guard validated.effects.delay > 0 else { return answer(validated, keepsOn: keepsOn, context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(validated.effects.delay)) {
            let (connection, context) = bound.value
            connection.answer(validated, keepsOn: keepsOn, context)
        }
    }

    private func answer(_ validated: ServiceHandler.ValidatedRequest, keepsOn: Bool, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        handler.recordAnswer(validated)
        let answer = validated.reply.answer
        writeHead(of: answer, keepsOn: keepsOn, context)
        if !answer.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !keepsOn { context.close(promise: nil) }
    }

    private func writeHead(
        of answer: ServiceAnswer, keepsOn: Bool, bodyBytes: Int? = nil, _ context: ChannelHandlerContext
    ) {
        var fields = HTTPHeaders(answer.fields.map { ($0.name, $0.value) })
        if answer.status != 204 { fields.add(name: "content-length", value: "\(bodyBytes ?? answer.body.count)") }
        if !keepsOn { fields.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func end(
        _ validated: ServiceHandler.ValidatedRequest, by ending: ServiceContext.Ending, _ context: ChannelHandlerContext
    ) {
        handler.recordUnanswered()
        switch ending.kind {
        case .hang: break
        case .silence: isOver = true
        case .stall:
            writeHead(
                of: validated.reply.answer, keepsOn: true, bodyBytes: validated.reply.answer.body.count + 1, context)
            context.flush()
        case .close, .loseAnswers: context.closeAbruptly()
        case .reset:
            isOver = true
            handler.ledger.recordConnection { $0.resetsSent += 1 }
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            // A lingering time of zero makes the kernel send RST instead of FIN.
            guard let socket = context.channel as? any SocketOptionProvider else { return context.closeAbruptly() }
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in bound.value.closeAbruptly() }
        }
    }
}

extension ChannelHandlerContext {
    /// Ends the TCP connection without a TLS shutdown.
    func closeAbruptly() {
        let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? self).close(promise: nil)
    }
}

extension ServiceRequest {
    init(_ head: HTTPRequestHead, body: [UInt8]) {
        self.init(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { Field(name: $0.name.lowercased(), value: $0.value) },
            authority: head.headers.first(name: "host"), body: body, isHTTP2: false)
    }
}
