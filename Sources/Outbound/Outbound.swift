import DNS
import FoundationEssentials
public import HTTP2Client
import KeyFiles
public import NIOHTTP1
public import NIOSSL

/// Posts to providers over HTTP, by the batch. Each request has a deadline, each answer a limit; no redirect is followed.
public struct Outbound: Sendable {
    private let connections: HostConnections
    private let names: AddressGuard?
    private let hosts: HostPolicy?
    private let leadsNowhere: @Sendable (String) -> Bool

    /// The limit for a host that gives no answer to anything.
    public static let silenceLimit = Duration.seconds(10)

    /// - Parameters:
    ///   - connections: to all that is posted to.
    ///   - names: for connections through a proxy, which connects where we cannot see it: judges the hosts of URLs before anything
    ///     is sent.
    ///   - hosts: for connections that are our own: judges the addresses of hosts before anything is connected to.
    ///   - leadsNowhere: whether a host can never be reached; nothing is asked for it then, of a proxy neither.
    public init(
        connections: HostConnections, judgingNamesBy names: AddressGuard? = nil, hostsBy hosts: HostPolicy? = nil,
        leadsNowhere: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.leadsNowhere = leadsNowhere
        self.connections = connections
        self.names = names
        self.hosts = hosts
    }

    /// Sends all requests and returns their answers in order. Never throws, and ends when its task is cancelled.
    ///
    /// - Parameters:
    ///   - urgent: goes before what waits for the same hosts and is not.
    ///   - silence: the requests of a host that gives no answer for so long are given up.
    ///   - deadline: for everything: connecting, waiting, the answers.
    public func post(
        _ batch: OutboundBatch, urgent: Bool = false, silence: Duration = Self.silenceLimit, within deadline: Duration
    ) async -> [OutboundAnswer] {
        var answers = Array(repeating: OutboundAnswer.unprocessed(.badURL), count: batch.count)
        await post(batch, urgent: urgent, silence: silence, within: deadline, into: &answers)
        return answers
    }

    /// Replaces the answers of the requests that the batch has.
    func post(
        _ batch: OutboundBatch, urgent: Bool, silence: Duration, within deadline: Duration,
        into answers: inout [OutboundAnswer]
    ) async {
        let tls = batch.shape.tls
        guard batch.parts.count > 1 else {
            for part in batch.parts {
                part.tell(await post(part, tls, urgent, silence, deadline), to: &answers)
            }
            return
        }
        // A task for each host, not for each device.
        await withTaskGroup(of: (Int, [OutboundAnswer]).self) { group in
            for (index, part) in batch.parts.enumerated() {
                group.addTask { (index, await post(part, tls, urgent, silence, deadline)) }
            }
            for await (index, own) in group { batch.parts[index].tell(own, to: &answers) }
        }
    }

    /// Connects to the host of a URL, including TLS, and sends a meaningless request. Returns nil when an answer comes,
    /// whatever it is.
    public func reach(_ url: String, tls: TLSConfiguration? = nil, deadline: Duration) async -> OutboundFault? {
        var batch = OutboundBatch(OutboundBatch.Shape(headers: [], body: .shared([]), tls: tls))
        batch.append(url: url)
        switch await post(batch, within: deadline).first {
        case .unprocessed(let fault)?, .unknown(let fault)?: return fault
        case .response?, nil: return nil
        }
    }

    /// Whether outsiders name the hosts.
    var isGuarded: Bool { names != nil || hosts != nil }

    private func post(
        _ part: OutboundBatch.Part, _ tls: TLSConfiguration?, _ urgent: Bool, _ silence: Duration, _ deadline: Duration
    ) async -> [OutboundAnswer] {
        let lapsesAt = ContinuousClock.now + deadline
        if let refusal = await refusal(of: part.origin) {
            return Array(repeating: .unprocessed(refusal), count: part.requests.count)
        }
        let (answers, failure) = await connections.send(
            part.requests, to: part.origin, tls: tls, urgent: urgent, silence: silence, within: lapsesAt - .now)
        return answers.map { OutboundAnswer($0, failure, isGuarded: isGuarded) }
    }

    /// Why a host may not be spoken to.
    func refusal(of origin: PostOrigin) async -> OutboundFault? {
        if leadsNowhere(origin.host) { return .nowhere }
        if let names, !names.permits(host: origin.host) { return .addressRefused }
        return switch await hosts?.verdict(onHost: origin.host) {
        case .permitted, nil: nil
        case .refused: .addressRefused
        case .unresolved(.unknown): .unresolved
        case .unresolved(.unanswered): .unanswered
        case .unresolved(.full): .manyNames
        }
    }
}

extension HTTPHeaders {
    /// The wait that an answer asks for.
    ///
    /// - Parameter now: Unix seconds.
    public func retryAfter(now: Int64 = Outbound.now()) -> Duration? {
        first(name: "retry-after").flatMap { RetryAfter.duration($0, now: now) }
    }
}

extension Outbound {
    /// Seconds since 1970 by the system's clock.
    public static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    /// Many items in their order, `count` at a time.
    public static func parts<Item>(of items: [Item], count: Int) -> [ArraySlice<Item>] {
        stride(from: 0, to: items.count, by: count).map { items[$0..<min($0 + count, items.count)] }
    }

    /// TLS 1.2 or above, with the roots of the system.
    public static var standardTLS: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        return tls
    }

    /// ``standardTLS`` with other roots than the system's and with a certificate of our own.
    ///
    /// - Parameters:
    ///   - trustRoots: certificates in PEM.
    ///   - certificate: a chain in PEM, the leaf first.
    ///   - key: its private key in PEM.
    /// - Returns: nil when there is nothing to set.
    public static func tls(trustRoots: String?, certificate: String? = nil, key: String? = nil) throws
        -> TLSConfiguration?
    {
        guard trustRoots != nil || certificate != nil else { return nil }
        var tls = standardTLS
        if let trustRoots {
            tls.trustRoots = .certificates(try PEMFile.certificates(in: Array(trustRoots.utf8)))
        }
        if let certificate, let key {
            tls.certificateChain = try PEMFile.certificates(in: Array(certificate.utf8)).map { .certificate($0) }
            tls.privateKey = .privateKey(try PEMFile.privateKey(in: Array(key.utf8)))
        }
        return tls
    }
}

/// One request by itself, such as to a token server.
public struct OutboundRequest: Sendable {
    public var method: String
    public var url: String
    /// Names in lowercase.
    public var headers: [HTTP2Header]
    public var body: [UInt8]
    /// Instead of the standard.
    public var tls: TLSConfiguration?
    /// How much of the answer's body is read.
    public var answerBytesMax: Int
    /// The headers of the answer that are read, in lowercase.
    public var keptHeaders = ["retry-after"]

    public init(
        _ method: String, _ url: String, headers: [HTTP2Header] = [], body: [UInt8] = [], tls: TLSConfiguration? = nil,
        answerBytesMax: Int = 64 * 1_024
    ) {
        self.answerBytesMax = answerBytesMax
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.tls = tls
    }
}

extension Outbound {
    /// Sends one request that is rare, and reads at most 64 KiB of its answer: a POST of a form as browsers send them, or a GET.
    ///
    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter tls: nil for the standard.
    public func ask(
        _ url: String, form: String?, authorization: String?, tls: TLSConfiguration? = nil, deadline: Duration
    ) async -> OutboundAnswer {
        var request = OutboundRequest(form == nil ? "GET" : "POST", url, body: Array((form ?? "").utf8), tls: tls)
        request.headers = [HTTP2Header("accept", "application/json")]
        if let authorization { request.headers.append(HTTP2Header("authorization", authorization)) }
        if form != nil { request.headers.append(HTTP2Header("content-type", "application/x-www-form-urlencoded")) }
        return await ask(request, deadline: deadline)
    }

    /// Never throws, and ends when its task is cancelled.
    ///
    /// - Parameter deadline: for everything: connecting, waiting, the whole answer.
    public func ask(_ request: OutboundRequest, deadline: Duration) async -> OutboundAnswer {
        var shape = OutboundBatch.Shape(
            headers: request.headers, body: .shared(request.body), answerBytesMax: request.answerBytesMax,
            tls: request.tls)
        shape.method = request.method
        shape.keptHeaders = request.keptHeaders
        var batch = OutboundBatch(shape)
        batch.append(url: request.url)
        return await post(batch, silence: deadline, within: deadline)[0]
    }
}
