import HTTP2Client
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The connections to one host: HTTP/2, or HTTP/1.1 where the host offers nothing else. All are on one event loop.
final class PostHost: Sendable {
    let permits: HostPermits
    /// nil for a host without TLS, which speaks HTTP/1.1.
    private let http2: HTTP2Pool?
    private let http1: HTTP1Pool
    private let speech: NegotiatedProtocol

    /// The protocol that the host chose on the latest connection.
    private final class NegotiatedProtocol: Sendable {
        private let value: Atomic<Bool>

        init(isHTTP1: Bool) { value = Atomic(isHTTP1) }

        var isHTTP1: Bool { value.load(ordering: .acquiring) }
        func choose(http1: Bool) { value.store(http1, ordering: .releasing) }
    }

    init(
        _ origin: PostOrigin, tls: NIOSSLContext?, _ options: HostConnections.Configuration, permits: HostPermits,
        on eventLoop: any EventLoop, logger: Logger
    ) {
        let speech = NegotiatedProtocol(isHTTP1: tls == nil)
        let admitsPeer = options.addresses.map { addresses in { @Sendable in addresses.permits($0) } }
        let http1 = HTTP1Pool(
            HTTP1PoolConfiguration(
                host: origin.host, port: origin.port, authority: origin.authority, tls: tls, tunnel: options.tunnel,
                lookUp: options.lookUp, admitsPeer: admitsPeer, permits: permits,
                connectionsMax: options.http1ConnectionsMax,
                connectDeadline: options.connectDeadline, idleMax: options.idleMax,
                onHTTP2: { speech.choose(http1: false) }), on: eventLoop)
        self.permits = permits
        self.speech = speech
        self.http1 = http1
        http2 = tls.map { tls in
            var pool = options.http2
            pool.permits = permits
            pool.connection.admitsPeer = admitsPeer
            pool.connection.takeHTTP1 = { channel in
                speech.choose(http1: true)
                http1.adopt(channel)
            }
            return HTTP2Pool(
                endpoint: HTTP2Endpoint(host: origin.host, port: origin.port), tls: tls, configuration: pool,
                eventLoopGroup: eventLoop, logger: logger)
        }
    }

    func send(
        _ requests: HTTP2Batch, urgent: Bool, silence: Duration, within deadline: Duration
    ) async -> (HTTP2Answers, HTTP2ConnectError?) {
        let lapsesAt = ContinuousClock.now + deadline
        guard let http2, !speech.isHTTP1 else { return await sendByHTTP1(requests, urgent, silence, until: lapsesAt) }
        var answers = await http2.send(requests, urgent: urgent, deadline: deadline, silence: silence)
        note(answers)
        let unsent = answers.unprocessedIndices
        guard !unsent.isEmpty else { return (answers, nil) }
        guard speech.isHTTP1 else { return (answers, http2.snapshot.lastFailure) }
        // It chose HTTP/1.1 meanwhile.
        let (later, failure) = await sendByHTTP1(requests.picking(unsent), urgent, silence, until: lapsesAt)
        answers.replace(at: unsent, with: later)
        return (answers, failure)
    }

    private func sendByHTTP1(
        _ requests: HTTP2Batch, _ urgent: Bool, _ silence: Duration, until lapsesAt: ContinuousClock.Instant
    ) async -> (HTTP2Answers, HTTP2ConnectError?) {
        let result = await http1.send(requests, urgent: urgent, deadline: lapsesAt - .now, silence: silence)
        note(result.0)
        return result
    }

    private func note(_ answers: HTTP2Answers) {
        if answers.records.contains(where: { $0.kind == .response }) { permits.becomeKnown() }
    }

    /// Closes the connections, on which nothing stands, so that others may open some.
    func closeIdle() {
        permits.forgive()
        http2?.closeIdle()
        http1.closeIdle()
    }

    /// Closes what was not used for long.
    func retire() {
        http1.shutdown()
        http2?.retire()
    }

    func shutdown() async {
        http1.shutdown()
        await http2?.shutdown(within: .seconds(1))
    }
}

extension HostConnections.Configuration {
    /// How connections over HTTP/2 are opened, watched and closed.
    fileprivate var http2: HTTP2PoolConfiguration {
        var pool = HTTP2PoolConfiguration()
        // An answer of any kind shows that the connection works; nothing is signed for a connection.
        pool.connection.provesAuthentication = { $0 < 500 }
        pool.connection.streamsMax = 256
        pool.connection.connectDeadline = connectDeadline
        pool.connection.tunnel = tunnel
        pool.connection.lookUp = lookUp
        // Google's hosts end connections that are pinged while idle.
        pool.connection.idlePingAfter = .seconds(86_400)
        pool.connectionsMax = http2ConnectionsMax
        pool.openSpacing = .milliseconds(100)
        pool.idleMax = idleMax
        pool.lastIdleMax = hostIdleMax
        // A host that cannot be reached is known at once; the caller tries again later.
        pool.outlastsBackOff = false
        pool.backOffFirst = .milliseconds(250)
        pool.backOffLongest = .seconds(10)
        pool.drainDeadline = .seconds(10)
        return pool
    }
}

/// The scheme, host and port that a request goes to, as one connection serves them. Source: RFC 6454 §4.
public struct PostOrigin: Sendable, Hashable {
    public let isSecure: Bool
    /// The host in lowercase; an IPv6 address is without its brackets.
    public let host: String
    public let port: Int

    /// `https://host`, with the port where it is not the scheme's own.
    public var text: String { "\(isSecure ? "https" : "http")://\(authority)" }

    /// The value of `Host` and `:authority`.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Splits a URL into its origin and the target of a request.
    ///
    /// nil for anything but `https` and `http` in visible ASCII, for a user part, for a backslash, which others read as a slash,
    /// and for a port that is none. Source: RFC 3986 §3; WHATWG URL, "special schemes".
    static func split(_ url: String) -> (origin: PostOrigin, target: Substring)? {
        let bytes = url.utf8
        guard bytes.allSatisfy({ 0x21...0x7E ~= $0 }), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            url[colon...].hasPrefix("://")
        else { return nil }
        let scheme = url[..<colon].lowercased()
        guard scheme == "https" || scheme == "http" else { return nil }
        let rest = url[bytes.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex(where: endsAuthority) ?? rest.endIndex
        guard let origin = PostOrigin(authority: rest[..<end], isSecure: scheme == "https") else { return nil }
        return (origin, target(rest[end...]))
    }

    /// The part of a URL behind its authority, without a fragment.
    static func target(_ rest: Substring) -> Substring {
        rest[..<(rest.utf8.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex)]
    }

    static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private init?(authority: Substring, isSecure: Bool) {
        guard !authority.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "\\") }) else {
            return nil
        }
        var name = authority
        var port = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            let digits = authority[authority.index(after: colon)...]
            name = authority[..<colon]
            guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            if !digits.isEmpty {
                guard let number = Int(digits), 1...65_535 ~= number else { return nil }
                port = number
            }
        }
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        let host = isBracketed ? name.dropFirst().dropLast() : name
        guard !host.isEmpty, host.utf8.count <= 255, host.contains(":") == isBracketed else { return nil }
        self.isSecure = isSecure
        self.host = host.lowercased()
        self.port = port
    }
}
