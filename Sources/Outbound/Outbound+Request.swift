public import HTTP2Client
public import NIOSSL

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
    public var answerBytesMax = 64 * 1_024

    public init(
        _ method: String, _ url: String, headers: [HTTP2Header] = [], body: [UInt8] = [], tls: TLSConfiguration? = nil
    ) {
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
        var batch = OutboundBatch(shape)
        batch.append(url: request.url)
        return await post(batch, silence: deadline, within: deadline)[0]
    }
}
