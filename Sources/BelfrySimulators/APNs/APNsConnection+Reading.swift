import CNghttp2
import Foundation
import NIOCore
import NIOSSL

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
