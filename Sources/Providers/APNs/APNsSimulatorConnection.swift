import CNghttp2
import Foundation
import NIOCore
import NIOSSL

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

/// Turns the headers and bodies that nghttp2 reads into the facts of a request.
extension APNsConnection {
    /// - Parameter name: in lower case, as nghttp2 guarantees.
    func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, for request: Request) {
        if handler.ledger.detail == .payloads { keepHeader(name, value, for: request) }
        switch name.count {
        case 5 where name.equals(":path"): readPath(value, for: request)
        case 7 where name.equals(":method"): request.pointee.facts.method = value.equals("POST") ? .post : .other
        case 7 where name.equals("apns-id"):
            note(.id, for: request)
            request.pointee.facts.id = request.pointee.readID(value) ? .good : .bad
        case 10 where name.equals("apns-topic"):
            note(.topic, for: request)
            readTopic(value, for: request)
        case 13 where name.equals("authorization"):
            note(.authorization, for: request)
            if isByToken { request.pointee.facts.authorization = validate(authorization: value) }
        case 13 where name.equals("apns-priority"):
            note(.priority, for: request)
            readPriority(value, for: request)
        case 14 where name.equals("apns-push-type"):
            note(.pushType, for: request)
            request.pointee.facts.pushType = Self.pushType(value)
        case 15 where name.equals("apns-expiration"):
            note(.expiration, for: request)
            request.pointee.facts.expiration = Self.isExpiration(value) ? .good : .bad
            request.pointee.facts.expiresAtOnce = value.equals("0")
        case 15 where name.equals("apns-channel-id"):
            note(.channelID, for: request)
            readChannel(value, for: request)
        case 15 where name.equals("apns-request-id"):
            note(.id, for: request)
            request.pointee.facts.id = request.pointee.readID(value) ? .good : .bad
        case 16 where name.equals("apns-collapse-id"):
            note(.collapseID, for: request)
            request.pointee.facts.collapseIDBytes = value.count
        default: break
        }
    }

    func readPayload(_ bytes: UnsafeRawBufferPointer, for request: Request) {
        let configuration = service.configuration
        if request.pointee.facts.payloadOpening == nil {
            request.pointee.facts.payloadOpening = bytes.first { !Self.isWhiteSpace($0) }
        }
        request.pointee.facts.payloadBytes += bytes.count
        let keeps = configuration.parsesPayloads || handler.ledger.detail == .payloads
        if keeps, request.pointee.payload.count <= service.validation.voipPayloadBytesMax {
            request.pointee.payload.append(contentsOf: bytes)
        }
    }

    private func note(_ header: HeaderSet, for request: Request) {
        if !request.pointee.headersSeen.insert(header).inserted { request.pointee.facts.repeatsHeader = true }
    }

    private func keepHeader(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, for request: Request
    ) {
        guard !name.equals("authorization") else { return }
        request.pointee.headers.append(
            .init(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
    }

    private func readPath(_ value: UnsafeRawBufferPointer, for request: Request) {
        guard value.starts(with: "/3/device/") else {
            if value.starts(with: Self.broadcastPath) { return readBroadcastPath(value, for: request) }
            request.pointee.facts.path = value.equals("/3/device") ? .withoutToken : .foreign
            return
        }
        let digits = UnsafeRawBufferPointer(rebasing: value[10...])
        let isToken = request.pointee.readToken(digits, allowed: service.configuration.tokenBytes)
        request.pointee.facts.path = digits.isEmpty ? .withoutToken : isToken ? .device : .badToken
    }

    private func readTopic(_ value: UnsafeRawBufferPointer, for request: Request) {
        guard !value.isEmpty else { return }
        if !value.equals(lastTopic.bytes) {
            let text = String(decoding: value, as: UTF8.self)
            lastTopic = LastTopic(bytes: Array(value), text: text, topic: service.classify(text))
        }
        request.pointee.facts.topic = lastTopic.topic
        request.pointee.topic = lastTopic.text
    }

    private func readPriority(_ value: UnsafeRawBufferPointer, for request: Request) {
        for (text, level) in [("10", 10), ("5", 5), ("1", 1)] as [(StaticString, UInt8)] where value.equals(text) {
            request.pointee.facts.priority = .good
            request.pointee.facts.priorityLevel = level
            return
        }
        request.pointee.facts.priority = .bad
    }

    private static func pushType(_ value: UnsafeRawBufferPointer) -> RequestFacts.Kind {
        // The two most common values need no string.
        if value.equals("alert") { return .known(.alert) }
        if value.equals("background") { return .known(.background) }
        return PushType(rawValue: String(decoding: value, as: UTF8.self)).map { .known($0) } ?? .unknown
    }

    /// Seconds since 1970, without sign.
    private static func isExpiration(_ value: UnsafeRawBufferPointer) -> Bool {
        (1...18).contains(value.count) && value.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}

// MARK: - Who sent it

/// The provider token that a connection last accepted, so that the same bytes are accepted without another check.
struct LastToken {
    var bytes: [UInt8] = []
    var issuedAt: Int64 = 0
}

/// The topic that a connection last read.
struct LastTopic {
    var bytes: [UInt8] = []
    var text = ""
    var topic = RequestFacts.Topic(suffix: .none)
}

extension APNsConnection {
    private func validate(authorization value: UnsafeRawBufferPointer) -> RequestFacts.Authorization {
        let seconds = now / 1000
        if value.equals(lastToken.bytes) {
            return ConnectionCredentials.complaintAboutAge(issuedAt: lastToken.issuedAt, at: seconds)
                .map { .refused($0) } ?? .good
        }
        guard value.count > 7, value.startsWithBearer else { return .refused(.missingProviderToken) }
        guard let token = service.tokens.finding(for: UnsafeRawBufferPointer(rebasing: value[7...])) else {
            return .refused(.invalidProviderToken)
        }
        if let complaint = credentials.validate(token, at: seconds) { return .refused(complaint) }
        lastToken = LastToken(bytes: Array(value), issuedAt: token.issuedAt)
        return .good
    }

    /// With certificates the handshake has already decided; the certificate's own topic stands in for a missing one.
    func authorizeByCertificate(_ request: Request) {
        request.pointee.facts.authorization = .good
        guard request.pointee.facts.topic == nil else { return }
        guard let topic = topicOfCertificate() else { return }
        request.pointee.facts.topic = service.classify(topic)
        request.pointee.topic = topic
    }

    private func topicOfCertificate() -> String? {
        if let known = certificateTopic { return known }
        let certificate = try? context?.pipeline.syncOperations.nioSSL_peerCertificate()
        let topic = (try? certificate?.toDERBytes()).flatMap { CertificateAuthority.topic(inCertificate: $0) }
        certificateTopic = .some(topic)
        return topic
    }
}

// MARK: - Bytes

extension UnsafeRawBufferPointer {
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    @inline(__always)
    func equals(_ bytes: [UInt8]) -> Bool {
        guard count == bytes.count, let baseAddress else { return false }
        return bytes.withUnsafeBytes { other in
            other.baseAddress.map { memcmp(baseAddress, $0, count) == 0 } ?? false
        }
    }

    @inline(__always)
    func starts(with text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// The word is compared without case.
    var startsWithBearer: Bool {
        guard count >= 7 else { return false }
        return zip(self, "bearer ".utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
    }
}

/// Takes a complete request to its answer.
extension APNsConnection {
    /// The usual answer; nil is 200. See `Validation` for the order.
    func verdict(on request: Request) -> APNsVerdict? {
        let facts = request.pointee.facts
        if facts.path == .broadcast { return verdictOnBroadcast(request) }
        let validation = service.validation
        if let complaint = validation.complaintAboutForm(of: facts) { return APNsVerdict(complaint) }
        if let scripted = scriptedVerdict(on: request), scripted.status != 200 { return scripted }
        if let complaint = validation.complaintAboutSender(of: facts) { return APNsVerdict(complaint) }
        if let complaint = validation.complaintAboutPayload(of: facts) { return APNsVerdict(complaint) }
        if service.configuration.parsesPayloads, !JSONObject.isObject(request.pointee.payload) {
            return APNsVerdict(.badRequestPayload)
        }
        return nil
    }

    func scriptedVerdict(on request: Request) -> APNsVerdict? {
        compiled.verdict(for: request.pointee.token).map { APNsVerdict($0) }
    }

    /// Whether the request is to be answered; its verdict is known then.
    func obeyScript(_ request: Request, on stream: Slot, delay: inout Int64) -> Bool {
        let path = compiled.asksForPath ? request.pointee.path : ""
        var context = ServiceContext(
            now: .milliseconds(now), compiled: compiled,
            occasion: .init(connection: ordinal, request: requestsSeen, path: path, topic: request.pointee.topic),
            insteadOfScript: lastingEffects)
        let answer = context.matchedAnswer(request.pointee.token)
        guard act(on: context.effects, for: stream) else { return false }
        delay += context.effects.delay
        let scripted = answer.map { APNsVerdict($0) }
        request.pointee.verdict = scripted.map { $0.status == 200 ? nil : $0 } ?? verdict(on: request)
        return true
    }

    /// Counts the device as notified.
    func record(_ request: Request) {
        guard request.pointee.facts.path == .device || request.pointee.facts.path == .broadcast else { return }
        let ledger = handler.ledger
        request.pointee.isTold = true
        ledger.recordTold(
            request.pointee.token, hash: request.pointee.tokenHash, id: request.pointee.idHash, at: now)
        guard ledger.detail == .payloads else { return }
        let kept = LedgerRequest(
            headers: request.pointee.headers, payload: String(decoding: request.pointee.payload, as: UTF8.self))
        ledger.keep(kept, for: request.pointee.token, hash: request.pointee.tokenHash)
    }

    /// Sends a refusal, with the header fields of a script if it names some.
    func submit(_ verdict: APNsVerdict, _ fields: UnsafeMutableBufferPointer<nghttp2_nv>, on stream: Slot) {
        guard !verdict.fields.isEmpty else {
            return submit(UnsafeBufferPointer(fields), on: stream, body: Array(verdict.body.utf8))
        }
        HeaderBlock(verdict.fields).withPairs { more in
            (Array(fields) + Array(more)).withUnsafeBufferPointer {
                submit($0, on: stream, body: Array(verdict.body.utf8))
            }
        }
    }

    func headerFields(for request: Request, status: Int) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        if request.pointee.facts.id != .good { request.pointee.writeID(from: answers.nextRandom()) }
        if request.pointee.facts.path == .broadcast {
            return answers.fieldsOfBroadcast(status: status, id: request.pointee.id)
        }
        return answers.fields(
            status: status, id: request.pointee.id, withUniqueID: service.configuration.isSandbox)
    }
}

/// Requests to `/4/broadcasts/apps/{bundle}`. Source: Apple, "Sending broadcast push notification requests to APNs".
extension APNsConnection {
    static let broadcastPath: StaticString = "/4/broadcasts/apps/"

    func readBroadcastPath(_ value: UnsafeRawBufferPointer, for request: Request) {
        let bundle = UnsafeRawBufferPointer(rebasing: value[Self.broadcastPath.utf8CodeUnitCount...])
        request.pointee.facts.path = bundle.isEmpty ? .foreign : .broadcast
        guard !bundle.isEmpty else { return }
        let text = String(decoding: bundle, as: UTF8.self)
        request.pointee.topic = text
        request.pointee.facts.topic = service.classify(text)
    }

    /// The path has a channel's id in place of a device's token.
    func readChannel(_ value: UnsafeRawBufferPointer, for request: Request) {
        let isID = ChannelRegistry.isID(String(decoding: value, as: UTF8.self))
        request.pointee.facts.channel = isID && request.pointee.keepToken(value) ? .good : .bad
    }

    /// nil is 200.
    func verdictOnBroadcast(_ request: Request) -> APNsVerdict? {
        let facts = request.pointee.facts
        let validation = BroadcastValidation()
        if let complaint = validation.complaintAboutForm(of: facts) { return APNsVerdict(complaint) }
        if let scripted = scriptedVerdict(on: request), scripted.status != 200 { return scripted }
        if let complaint = validation.complaintAboutSender(of: facts) { return APNsVerdict(complaint) }
        let id = String(decoding: request.pointee.token, as: UTF8.self)
        let policy = service.configuration.channels.policy(of: id, in: request.pointee.topic ?? "")
        return validation.complaint(of: facts, toChannelStoring: policy).map { APNsVerdict($0) }
    }
}

/// The checks of a broadcast, where the first complaint is the answer. Apple does not publish its order.
struct BroadcastValidation {
    static let payloadBytesMax = 5_120

    func complaintAboutForm(of request: RequestFacts) -> APNsReason? {
        if request.repeatsHeader { return .badRequestParams }
        if request.id == .bad { return .badMessageID }
        if request.method != .post { return .methodNotAllowed }
        switch request.channel {
        case .absent: return .missingChannelID
        case .bad: return .badChannelID
        case .good: break
        }
        switch request.pushType {
        case .absent: return .missingPushType
        case .known(.liveactivity): break
        case .known, .unknown: return .invalidPushType
        }
        // 1 is not for broadcasts, and there is no default.
        guard request.priority == .good, request.priorityLevel != 1 else { return .badPriority }
        return request.expiration == .good ? nil : .badExpirationDate
    }

    func complaintAboutSender(of request: RequestFacts) -> APNsReason? {
        switch request.authorization {
        case .absent: return .missingProviderToken
        case .refused(let reason): return reason
        case .good: break
        }
        guard request.topic?.suffix == TopicSuffix.none else { return .topicDisallowed }
        return request.topic?.isAllowed == false ? .topicMismatch : nil
    }

    /// - Parameter policy: the channel's storage policy; nil when there is no such channel.
    func complaint(of request: RequestFacts, toChannelStoring policy: Int?) -> APNsReason? {
        guard let policy else { return .channelNotRegistered }
        if policy == 0, !request.expiresAtOnce { return .badExpirationDate }
        if request.payloadBytes == 0 { return .payloadEmpty }
        if request.payloadBytes > Self.payloadBytesMax { return .payloadTooLarge }
        return request.payloadOpening == UInt8(ascii: "{") ? nil : .badRequestPayload
    }
}

/// The header fields of an answer in memory for nghttp2, made once for each connection.
final class AnswerHeaders {
    private static let texts: [StaticString] = [
        ":status", "apns-id", "apns-unique-id", "apns-request-id",
    ]
    private let fields = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: 3)
    private let names: [UnsafeMutablePointer<UInt8>]
    private let status = UnsafeMutablePointer<UInt8>.allocate(capacity: 3)
    private let uniqueID = UnsafeMutablePointer<UInt8>.allocate(capacity: APNsRequest.idBytes)
    private var random = UInt64.random(in: 0 ... .max)

    init() {
        names = Self.texts.map { text in
            let name = UnsafeMutablePointer<UInt8>.allocate(capacity: text.utf8CodeUnitCount)
            memcpy(name, text.utf8Start, text.utf8CodeUnitCount)
            return name
        }
        // Ids never repeat: indexed, they would only evict others from the HPACK table.
        let unindexed = UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        fields[0] = nghttp2_nv(name: names[0], value: status, namelen: 7, valuelen: 3, flags: 0)
        fields[1] = nghttp2_nv(
            name: names[1], value: status, namelen: 7, valuelen: APNsRequest.idBytes, flags: unindexed)
        fields[2] = nghttp2_nv(
            name: names[2], value: uniqueID, namelen: 14, valuelen: APNsRequest.idBytes, flags: unindexed)
    }

    func deallocate() {
        fields.deallocate()
        for name in names { name.deallocate() }
        status.deallocate()
        uniqueID.deallocate()
    }

    func nextRandom() -> (UInt64, UInt64) {
        random &+= 2
        return (StableHash.mix(random), StableHash.mix(random &+ 1))
    }

    /// The fields of an answer to a broadcast; valid until the next call.
    func fieldsOfBroadcast(
        status code: Int, id: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        let all = fields(status: code, id: id, withUniqueID: true)
        (all[1].name, all[1].namelen) = (names[3], 15)
        return UnsafeMutableBufferPointer(rebasing: all[..<(code == 200 ? 3 : 2)])
    }

    /// The fields of an answer; valid until the next call.
    func fields(
        status code: Int, id: UnsafeMutablePointer<UInt8>, withUniqueID: Bool
    ) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        status[0] = UInt8(ascii: "0") + UInt8(code / 100 % 10)
        status[1] = UInt8(ascii: "0") + UInt8(code / 10 % 10)
        status[2] = UInt8(ascii: "0") + UInt8(code % 10)
        fields[1].value = id
        (fields[1].name, fields[1].namelen) = (names[1], 7)
        if withUniqueID { UUIDText.write(nextRandom(), to: uniqueID) }
        return UnsafeMutableBufferPointer(start: fields, count: withUniqueID ? 3 : 2)
    }
}
