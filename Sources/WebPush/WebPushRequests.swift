import HTTP2Client
import NIOSSL
import Outbound

/// One message, encrypted for each of some browsers and signed for each push service, ready to be sent.
struct WebPushRequests: Sendable {
    private(set) var batch: OutboundBatch
    /// The place of each request of the batch among the subscriptions; a subscription with an invalid key has no request.
    private let places: [Int]
    private var authorizations: [PostOrigin: String] = [:]

    /// Takes long: about 80 µs for each subscription.
    ///
    /// - Parameter payloads: one for each of all subscriptions, by their indices; nil where all get the message's own.
    init(
        _ message: WebPushMessage, to subscriptions: ArraySlice<WebPushSubscription>, payloads: [[UInt8]]? = nil,
        tls: TLSConfiguration?, signedBy vapid: VAPID, now: Int64
    ) throws {
        batch = OutboundBatch(
            OutboundBatch.Shape(
                headers: message.headers, body: .own, keptHeaders: WebPushAnswer.headers, tls: tls))
        var places: [Int] = []
        for (place, subscription) in subscriptions.enumerated() {
            let payload = payloads?[subscriptions.startIndex + place] ?? message.payload
            guard let body = try? WebPushCipher(for: subscription).seal(payload) else { continue }
            batch.append(url: subscription.endpoint, body: body)
            places.append(place)
        }
        self.places = places
        for index in batch.parts.indices where batch.parts[index].origin.isMicrosoft {
            batch.parts[index].requests.headers.append(message.cachePolicy)
        }
        try sign(by: vapid, now: now)
    }

    /// Puts answers, one for each request, where their subscriptions stand.
    func tell(_ found: [OutboundAnswer], to answers: inout [WebPushAnswer]) {
        for (place, answer) in zip(places, found) { answers[place] = WebPushAnswer(answer) }
    }

    /// The requests that were refused for their token, with another one; nil when there are none.
    func renewed(after found: [OutboundAnswer], by vapid: VAPID, now: Int64) throws -> WebPushRequests? {
        let refused = found.indices.filter {
            if case .response(let response) = found[$0] { response.status == 401 } else { false }
        }
        guard !refused.isEmpty else { return nil }
        var again = self
        again.batch = batch.picking(refused)
        for part in again.batch.parts {
            authorizations[part.origin].map { vapid.forget($0, for: part.origin.text) }
        }
        try again.sign(by: vapid, now: now)
        return again
    }

    private mutating func sign(by vapid: VAPID, now: Int64) throws {
        for index in batch.parts.indices {
            let origin = batch.parts[index].origin
            let header = HTTP2Header("authorization", try vapid.header(for: origin.text, now: now))
            authorizations[origin] = String(decoding: header.value, as: UTF8.self)
            batch.parts[index].requests.headers.removeAll { $0.name == header.name }
            batch.parts[index].requests.headers.append(header)
        }
    }
}

extension WebPushMessage {
    var headers: [HTTP2Header] {
        var headers = [
            HTTP2Header("ttl", "\(ttl)"), HTTP2Header("content-encoding", "aes128gcm"),
            HTTP2Header("content-type", "application/octet-stream"),
        ]
        // The default goes unsaid. Source: RFC 8030 §5.3.
        if urgency != .normal { headers.append(HTTP2Header("urgency", urgency.rawValue)) }
        if let topic { headers.append(HTTP2Header("topic", topic)) }
        return headers
    }

    /// Microsoft's service refuses a TTL that contradicts its own header (pywebpush #162).
    var cachePolicy: HTTP2Header { HTTP2Header("x-wns-cache-policy", ttl == 0 ? "no-cache" : "cache") }
}

extension PostOrigin {
    var isMicrosoft: Bool { host.hasSuffix(".notify.windows.com") }
}
