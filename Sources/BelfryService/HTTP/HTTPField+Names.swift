import FoundationEssentials
package import HTTPTypes

extension HTTPField.Name {
    /// Source: draft-ietf-httpapi-idempotency-key-header.
    package static let idempotencyKey = known("Idempotency-Key")
    /// Our own: the response is a stored one.
    package static let idempotencyReplayed = known("Idempotency-Replayed")
    /// Source: WHATWG HTML, "Server-sent events".
    package static let lastEventID = known("Last-Event-ID")
    /// Source: RFC 7234 §5.5.
    static let warning = known("Warning")
    /// Source: W3C Trace Context.
    static let traceparent = known("traceparent")
    /// Source: W3C Service Workers, "Service-Worker-Allowed".
    static let serviceWorkerAllowed = known("Service-Worker-Allowed")
    /// Our own: a live page shows itself anew, without a person.
    static let refresh = known("X-Belfry-Refresh")
    static let xForwardedFor = known("X-Forwarded-For")
    /// Source: nginx, ngx_http_proxy_module, proxy_buffering.
    static let xAccelBuffering = known("X-Accel-Buffering")
    static let xFrameOptions = known("X-Frame-Options")
    static let referrerPolicy = known("Referrer-Policy")
    /// Source: draft-ietf-httpapi-ratelimit-headers.
    static let rateLimit = known("RateLimit")
    static let rateLimitPolicy = known("RateLimit-Policy")

    /// Source: RFC 8030 §5.
    static let ttl = known("TTL")
    static let urgency = known("Urgency")
    static let topic = known("Topic")
    /// Source: draft-ietf-webpush-encryption-04 §3.
    static let encryption = known("Encryption")
    static let cryptoKey = known("Crypto-Key")

    /// Source: Open Service Broker API 2.17.
    static let brokerAPIVersion = known("X-Broker-API-Version")
    static let brokerRequestIdentity = known("X-Broker-API-Request-Identity")

    /// Source: carmaclient, carmaclient.go.
    static let carmaToken = known("X-Carma-Authentication-Token")

    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not a header name") }
        return name
    }
}

extension HTTPFields {
    /// Like the subscript, without the cost of joining where there is nothing to join.
    func value(_ name: HTTPField.Name) -> String? {
        let values = self[values: name]
        return values.count > 1 ? self[name] : values.first
    }

    /// The `Authorization` header. Apps that set it beside their SDK send it twice, and proxies join both with a comma; equal values count
    /// as one. Throws a 401 where they differ: which one counts would be a guess.
    func authorization() throws(APIError) -> String? {
        let values = self[values: .authorization]
        guard let first = values.first else { return nil }
        // No credentials but those of Digest have a comma in them.
        let isPlain =
            values.count == 1 && (!first.utf8.contains(UInt8(ascii: ",")) || first.lowercased().hasPrefix("digest"))
        if isPlain { return first }
        let given = values.flatMap { value in
            value.lowercased().hasPrefix("digest") ? [value[...]] : value.split(separator: ",")
        }.map { $0.drop { $0 == " " || $0 == "\t" } }.map { $0.split(separator: " ").joined(separator: " ") }
        guard let one = given.first else { return first }
        let count = Set(given.map(Self.meaning)).count
        guard count == 1 else {
            throw APIError(
                .unauthorized,
                "Authentication failed: the request has \(count) different Authorization headers, send one alone",
                headers: [.wwwAuthenticate: "Basic"])
        }
        return one
    }

    /// One text for credentials that say the same: schemes and UUIDs are of either case.
    private static func meaning(_ credentials: String) -> String {
        guard let end = credentials.firstIndex(of: " ") else { return credentials }
        let (scheme, rest) = (credentials[..<end].lowercased(), credentials[end...])
        guard scheme == "basic", let bytes = Data(base64Encoded: String(rest.dropFirst())) else { return scheme + rest }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard UUID(text: parts[0]) != nil, parts.count == 2 else { return scheme + rest }
        return "\(scheme) \(parts[0].lowercased()):\(parts[1])"
    }
}
