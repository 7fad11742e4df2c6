import HTTP2Client
import NIOHTTP1

extension OutboundAnswer {
    /// - Parameters:
    ///   - failure: why there was no connection, if there was none.
    ///   - isGuarded: whether a third party chose the host. Then the network's own error is not revealed, since the name
    ///     may have resolved to a private address.
    init(_ answer: HTTP2Answer, _ failure: HTTP2ConnectError?, isGuarded: Bool) {
        switch answer {
        case .response(let response): self = .response(OutboundResponse(response))
        case .unprocessed(let fault):
            self = .unprocessed(OutboundFault(unprocessed: fault, failure, isGuarded: isGuarded))
        case .unknown(let fault):
            self = fault.code == .deadline || fault.code == .cancelled ? .late : .unknown(.broken(fault))
        }
    }
}

extension OutboundResponse {
    init(_ response: HTTP2Response) {
        self.init(
            status: response.status, headers: HTTPHeaders(response.keptHeaders), body: Array(response.body))
    }
}

extension OutboundFault {
    fileprivate init(unprocessed fault: HTTP2Fault, _ failure: HTTP2ConnectError?, isGuarded: Bool) {
        switch (fault.code, failure) {
        case (.connectFailed, let failure?), (.tlsRefused, let failure?), (.proxy, let failure?),
            (.circuitOpen, let failure?), (.full, let failure?):
            self.init(failure, isGuarded: isGuarded)
        case (.deadline, _), (.cancelled, _): self = .notBegun
        default: self = .broken(fault)
        }
    }

    private init(_ failure: HTTP2ConnectError, isGuarded: Bool) {
        let isTLS = failure.code == .tlsRefused || failure.reason.contains("SSL routines")
        switch failure.code {
        case .unresolved: self = .unresolved
        case .proxy: self.init(.proxy, failure.reason)
        case .full: self.init(.full, failure.reason)
        case .invalid: self.init(.tls, failure.reason)
        case _ where isTLS: self.init(.tls, "TLS failed: \(Outbound.tlsWords(failure.reason))")
        // A name that resolved to something else a moment before is reported like one that does not resolve.
        case .unreachable, .addressRefused, .deadline:
            if isGuarded || failure.code == .addressRefused {
                self = .noConnection
            } else if failure.code == .deadline {
                self.init(.connectDeadline, "no connection in time")
            } else {
                self.init(.connect, "no connection: \(failure.reason.split(separator: ": ").last ?? "")")
            }
        default: self.init(.broken, "the connection ended before a request")
        }
    }

    fileprivate static func broken(_ fault: HTTP2Fault) -> OutboundFault { OutboundFault(.broken, "\(fault)") }
}
