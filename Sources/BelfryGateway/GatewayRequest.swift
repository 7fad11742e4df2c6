package import BelfryService
import FoundationEssentials

/// A request of a sender that speaks Apple's provider API over HTTP/2, as it came.
package struct GatewayRequest: Sendable, Hashable {
    /// The id of its HTTP/2 stream on the connection.
    package let stream: Int32
    package var method = ""
    package var path = ""
    /// The headers that say something here, without the `apns-` before their names.
    package var headers: [String: String] = [:]
    /// The first header of Apple's kind that says nothing here or there, without the `apns-` before its name.
    package var unknownHeader: String?
    /// How the body is compressed, of the characters that a token may have; nil where it is not.
    package private(set) var contentCoding: String?
    package var body: [UInt8] = []
    /// Whether the body is longer than any that is taken; then only its beginning is here.
    package var isBodyTooLong = false

    package init(stream: Int32) { self.stream = stream }

    static let headerNames: Set = ["id", "expiration", "priority", "push-type", "collapse-id"]
    /// Headers of Apple's that say nothing here: the certificate names the app.
    static let otherHeaderNames: Set = ["topic", "channel-id", "request-id", "unique-id", "bundle-id"]
    /// Longer names are not looked at.
    static let headerNameBytesMax = 32

    /// False where the name is not kept.
    mutating func note(unknown name: String) -> Bool {
        guard unknownHeader == nil, !Self.otherHeaderNames.contains(name),
            1...Self.headerNameBytesMax ~= name.utf8.count
        else { return false }
        unknownHeader = name
        return true
    }

    mutating func note(contentCoding text: String) {
        let coding = String(
            text.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-, ".contains($0)) })
        contentCoding = coding.isEmpty || coding == "identity" ? nil : String(coding.prefix(32))
    }

    /// The header that is probably meant by the unknown one.
    private var meantHeader: String? {
        guard let unknownHeader else { return nil }
        if unknownHeader.hasPrefix("expir") || unknownHeader == "ttl" { return "expiration" }
        return Self.headerNames.union(Self.otherHeaderNames).sorted().nearest(to: unknownHeader)
    }

    /// The value of the header that tells of it. Source: RFC 7234 §5.5.
    package var warning: String? {
        guard let unknownHeader, let meantHeader else { return nil }
        return "299 - \"apns-\(unknownHeader) is no header of APNs (is apns-\(meantHeader) meant?)\""
    }

    /// The most bytes of a body that are kept: the longest payload, and one more.
    static let bodyBytesMax = 5_121
}

/// The content of a valid request: the device, the push and its expiry.
package struct GatewayNotification: Sendable, Hashable {
    package let token: DeviceToken
    package let content: Push.Content
    package let expiresAt: Instant?
}

/// The answer to a request. Source: Apple, "Handling notification responses from APNs".
package struct GatewayResponse: Error, Sendable, Hashable {
    package let status: Int
    /// nil where it was taken.
    package let reason: String?
    /// The time, in milliseconds, at which APNs found the token dead; nil for other answers.
    package let since: Int64?
    /// A warning for the sender, beside the answer.
    package var warning: String?
    /// Whether it is for `HEAD`, which asks for the headers alone.
    package var isBodiless = false

    package static let accepted = GatewayResponse(200, nil)

    /// A body that is compressed: what it unpacks to has no bound before it is unpacked. Source: RFC 9110 §8.4 and §15.5.16.
    init(compressedBy coding: String) {
        self.init(415, "UnsupportedContentEncoding")
        warning =
            "299 - \"the body is compressed (content-encoding: \(coding)), and bodies are read as they are: send it without\""
    }

    static let methodNotAllowed = GatewayResponse(405, "MethodNotAllowed")

    init(_ status: Int, _ reason: String?, since: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.since = since
    }

    package var body: [UInt8] {
        guard let reason, !isBodiless else { return [] }
        var members: JSONObject = ["reason": .string(reason)]
        members["timestamp"] = since.map(JSONValue.integer)
        return JSONValue.object(members).encoded
    }
}

extension GatewayRequest {
    /// The id of the notification: the sender's, or else one of ours. Throws where the sender's is none.
    func id() throws(GatewayResponse) -> UUID {
        guard let text = headers["id"] else { return IdempotentID.make() }
        guard let id = UUID(uuidString: text) else { throw GatewayResponse(400, "BadMessageId") }
        return id
    }

    /// Checks the request. Throws the answer that APNs would give to a faulty one.
    package func notification(
        for platform: Platform, at now: Instant
    ) throws(GatewayResponse) -> GatewayNotification {
        let token = try token()
        _ = try id()
        guard case .apple(let use) = platform.kind else { throw GatewayResponse(400, "TopicDisallowed") }
        let priority = try priority()
        let kind = try kind()
        if let kind, !kind.priorities.contains(priority ?? kind.priorities[0]) {
            throw GatewayResponse(400, "BadPriority")
        }
        let expiry = GatewayExpiry(seconds: try expiration(), at: now)
        if let id = headers["collapse-id"],
            !(1...ApplePush.collapseIDBytesMax ~= id.utf8.count && ApplePush.isPlain(id))
        {
            throw GatewayResponse(400, "BadCollapseId")
        }
        if let contentCoding { throw GatewayResponse(compressedBy: contentCoding) }
        guard !body.isEmpty else { throw GatewayResponse(400, "PayloadEmpty") }
        guard !isBodyTooLong, body.count <= (kind ?? .alert).payloadBytesMax(for: use) else {
            throw GatewayResponse(413, "PayloadTooLarge")
        }
        guard case .object(let payload)? = try? JSONValue(json: body) else {
            throw GatewayResponse(400, "PayloadEmpty")
        }
        let apple = ApplePush(
            verbatim: payload, for: use, kind: kind, priority: priority, collapseID: headers["collapse-id"],
            isStored: expiry.isStored)
        guard apple.tokenUses.contains(use) else { throw GatewayResponse(400, "InvalidPushType") }
        let content = Push.Content(body: nil, apple: apple)
        do { try content.checkStored() } catch { throw GatewayResponse(413, "PayloadTooLarge") }
        return GatewayNotification(
            token: token, content: content,
            expiresAt: expiry.time)
    }

    private func token() throws(GatewayResponse) -> DeviceToken {
        // An encoded slash is one of a part, and begins none.
        let parts = path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).map {
            String(percentDecoding: $0)
        }
        guard parts.prefix(3) == ["", "3", "device"] else { throw GatewayResponse(404, "BadPath") }
        guard method == "POST" else { throw .methodNotAllowed }
        let text = parts.last ?? ""
        guard parts.count > 3, !text.isEmpty else { throw GatewayResponse(400, "MissingDeviceToken") }
        guard let bytes = [UInt8](hex: text.utf8), 1...GatewayRecord.tokenBytesMax ~= bytes.count else {
            throw GatewayResponse(400, "BadDeviceToken")
        }
        return DeviceToken(bytes: bytes)
    }

    private func kind() throws(GatewayResponse) -> ApplePush.Kind? {
        guard let text = headers["push-type"] else { return nil }
        guard let kind = ApplePush.Kind(rawValue: text) else { throw GatewayResponse(400, "InvalidPushType") }
        return kind
    }

    private func priority() throws(GatewayResponse) -> ApplePush.Priority? {
        guard let text = headers["priority"] else { return nil }
        guard let priority = Int64(text).flatMap(ApplePush.Priority.init) else {
            throw GatewayResponse(400, "BadPriority")
        }
        return priority
    }

    /// Unix seconds; 0 for one attempt, nil where the sender says nothing.
    ///
    /// APNs ignores a header that it does not know. A message that was to expire and does not is worse than one that is refused.
    private func expiration() throws(GatewayResponse) -> Int64? {
        if meantHeader == "expiration" { throw GatewayResponse(400, "BadExpirationDate") }
        guard let text = headers["expiration"] else { return nil }
        guard let seconds = Int64(text), 0...Int64(UInt32.max) ~= seconds else {
            throw GatewayResponse(400, "BadExpirationDate")
        }
        return seconds
    }
}

extension GatewayResponse {
    /// Makes the response from the verdict of APNs on the device.
    init(_ verdict: GatewayVerdict) {
        switch verdict {
        case .accepted, .other: self = .accepted
        case .gone(let since): self.init(410, "Unregistered", since: since?.milliseconds)
        case .refused(let refusal): self.init(refusal)
        }
    }

    private init(_ refusal: Refusal) {
        switch refusal {
        case .badToken: self.init(400, "BadDeviceToken")
        case .tokenOfAnotherApplication: self.init(400, "DeviceTokenNotForTopic")
        case .missingToken: self.init(400, "MissingDeviceToken")
        case .payloadTooLarge: self.init(413, "PayloadTooLarge")
        case .payloadEmpty: self.init(400, "PayloadEmpty")
        case .badCollapseID: self.init(400, "BadCollapseId")
        case .badExpiration: self.init(400, "BadExpirationDate")
        case .badMessageID: self.init(400, "BadMessageId")
        case .badPriority: self.init(400, "BadPriority")
        case .badPushType: self.init(400, "InvalidPushType")
        case .duplicateHeaders: self.init(400, "DuplicateHeaders")
        case .forbidden: self.init(403, "Forbidden")
        case .badPath: self.init(404, "BadPath")
        case .methodNotAllowed: self = .methodNotAllowed
        case .dropped, .addressNotAllowed, .other: self.init(500, "InternalServerError")
        }
    }
}
