/// An HTTP/2 connection whose requests are read whole and validated by a service.
final class ServiceConnection: HTTP2Connection {
    private let service: any SimulatedService

    init(handler: ServiceHandler, ordinal: Int, service: any SimulatedService) {
        self.service = service
        super.init(handler: handler, ordinal: ordinal)
    }

    /// A request as it arrives, and its result.
    private struct Request {
        var method = ""
        var target = ""
        var authority: String?
        var fields: [ServiceRequest.Field] = []
        var body: [UInt8] = []
        var validated: ServiceHandler.ValidatedRequest?

        var whole: ServiceRequest {
            ServiceRequest(
                method: method, target: target, fields: fields, authority: authority, body: body, isHTTP2: true)
        }
    }

    private func request(on stream: Slot) -> UnsafeMutablePointer<Request>? {
        stream.pointee.request?.assumingMemoryBound(to: Request.self)
    }

    override func makeRequest(on stream: Slot) -> UnsafeMutableRawPointer {
        let request = UnsafeMutablePointer<Request>.allocate(capacity: 1)
        request.initialize(to: Request())
        return UnsafeMutableRawPointer(request)
    }

    override func freeRequest(_ request: UnsafeMutableRawPointer) {
        request.assumingMemoryBound(to: Request.self).deinitialize(count: 1)
        request.deallocate()
    }

    override func begin(_ stream: Slot) {
        request(on: stream)?.pointee = Request()
    }

    override func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: Slot) {
        guard let request = request(on: stream) else { return }
        let text = String(decoding: value, as: UTF8.self)
        switch name.count {
        case 5 where name.equals(":path"): request.pointee.target = text
        case 7 where name.equals(":method"): request.pointee.method = text
        case 10 where name.equals(":authority"): request.pointee.authority = text
        case _ where name.first == UInt8(ascii: ":"): break
        default: request.pointee.fields.append(.init(name: String(decoding: name, as: UTF8.self), value: text))
        }
    }

    override func readBody(_ bytes: UnsafeRawBufferPointer, of stream: Slot) {
        guard let request = request(on: stream), request.pointee.body.count <= ServiceRequest.bodyBytesMax else {
            return
        }
        request.pointee.body.append(contentsOf: bytes)
    }

    override func take(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        let whole = request.pointee.whole
        let occasion = ArmedServiceFault.Occasion(connection: ordinal, request: requestsSeen, path: whole.path)
        let validated = handler.validate(whole, occasion, compiled, by: service, insteadOfScript: lastingEffects)
        request.pointee.validated = validated
        guard act(on: validated.effects, for: stream) else { return }
        tell(stream)
        answer(stream, after: validated.effects.delay)
    }

    override func tell(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        request.pointee.validated?.isTold = true
        if let validated = request.pointee.validated { handler.tell(validated, request.pointee.fields) }
    }

    override func takeBack(_ stream: Slot) {
        guard let request = request(on: stream), let validated = request.pointee.validated, validated.isTold else {
            return
        }
        request.pointee.validated?.isTold = false
        handler.takeBack(validated)
    }

    override func answer(_ stream: Slot) {
        guard let validated = request(on: stream)?.pointee.validated else { return }
        handler.recordAnswer(validated)
        submit(validated.reply.answer, on: stream)
    }

    override func answerStalled(_ stream: Slot) {
        if let answer = request(on: stream)?.pointee.validated?.reply.answer { submit(answer, on: stream) }
    }
}
