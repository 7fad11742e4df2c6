import CNghttp2
import NIOCore

/// One connection of a provider to APNs: collects the facts of a request while its header fields arrive, then validates
/// them.
///
/// The fast path copies no more than the token of a request and allocates nothing.
final class APNsConnection: HTTP2Connection {
    typealias Request = UnsafeMutablePointer<APNsRequest>

    let service: APNsService
    let isByToken: Bool
    let answers = AnswerHeaders()

    var credentials = ConnectionCredentials()
    var lastToken = LastToken()
    var lastTopic = LastTopic()
    /// The topic of the client certificate, once it has been looked up.
    var certificateTopic: String??
    private var allowsAllStreams: Bool

    init(handler: ServiceHandler, ordinal: Int, service: APNsService) {
        self.service = service
        self.isByToken = service.configuration.authentication.isByToken
        self.allowsAllStreams = !(isByToken && service.configuration.startsWithOneStream)
        super.init(handler: handler, ordinal: ordinal)
    }

    deinit { answers.deallocate() }

    override var firstStreamsAtOnceMax: UInt32 { allowsAllStreams ? service.configuration.streamsAtOnceMax : 1 }

    @inline(__always)
    func request(on stream: Slot) -> Request? {
        stream.pointee.request?.assumingMemoryBound(to: APNsRequest.self)
    }

    override func makeRequest(on stream: Slot) -> UnsafeMutableRawPointer {
        let request = Request.allocate(capacity: 1)
        request.initialize(to: APNsRequest(tokenBytesMax: service.configuration.tokenBytes.upperBound))
        return UnsafeMutableRawPointer(request)
    }

    override func freeRequest(_ request: UnsafeMutableRawPointer) {
        let request = request.assumingMemoryBound(to: APNsRequest.self)
        request.pointee.deallocate()
        request.deinitialize(count: 1)
        request.deallocate()
    }

    override func begin(_ stream: Slot) {
        request(on: stream)?.pointee.begin()
    }

    override func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: Slot) {
        if let request = request(on: stream) { read(name, value, for: request) }
    }

    override func readBody(_ bytes: UnsafeRawBufferPointer, of stream: Slot) {
        if let request = request(on: stream) { readPayload(bytes, for: request) }
    }

    override func take(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        if !isByToken { authorizeByCertificate(request) }
        var delay = compiled.latency
        if isScripted {
            guard obeyScript(request, on: stream, delay: &delay) else { return }
        } else {
            request.pointee.verdict = verdict(on: request)
        }
        if request.pointee.verdict == nil { record(request) }
        answer(stream, after: delay)
    }

    override func tell(_ stream: Slot) {
        if let request = request(on: stream), verdict(on: request) == nil { record(request) }
    }

    override func takeBack(_ stream: Slot) {
        guard let request = request(on: stream), request.pointee.isTold else { return }
        request.pointee.isTold = false
        handler.ledger.takeBack(request.pointee.token, hash: request.pointee.tokenHash, id: request.pointee.idHash)
    }

    override func answer(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        let verdict = request.pointee.verdict
        handler.ledger.recordAnswer(
            request.pointee.token, hash: request.pointee.tokenHash, APNsVerdict.entry(verdict), at: now)
        let fields = headerFields(for: request, status: verdict?.status ?? 200)
        if let verdict {
            submit(verdict, fields, on: stream)
        } else {
            submit(UnsafeBufferPointer(fields), on: stream)
            if !allowsAllStreams { allowAllStreams() }
        }
    }

    override func answerStalled(_ stream: Slot) {
        guard let request = request(on: stream) else { return }
        submit(UnsafeBufferPointer(headerFields(for: request, status: 200)), on: stream)
    }

    /// The first accepted provider token lifts the limit of one stream. Source: Apple, "Sending notification requests to APNs".
    private func allowAllStreams() {
        allowsAllStreams = true
        submitSettings(streamsAtOnceMax: service.configuration.streamsAtOnceMax)
    }
}
