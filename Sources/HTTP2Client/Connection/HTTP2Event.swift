/// Events of a connection between answers, for its owner.
public enum HTTP2Event: Sendable, Hashable {
    /// The server's stream limit is this now, or will be once authentication is proven.
    case streamLimit(Int)
    /// An answer proved that the connection works.
    case proven
    /// No further request will be written; those on their way may still be answered.
    case draining(HTTP2Ending)
    /// The connection is gone; every request has its answer.
    case closed(HTTP2Ending)
}

/// Why a connection ended.
public enum HTTP2Ending: Sendable, Hashable {
    /// We closed it.
    case closed
    /// The server sent GOAWAY, with its error code and debug data (APNs: JSON with a reason).
    case goAway(errorCode: UInt32, debugData: [UInt8])
    /// Too many server errors in a row.
    case sick
    /// The judge of the configuration retired it.
    case retired
    /// The judge retired it and all others.
    case allDeleted
    /// A ping was not answered.
    case pingUnanswered
    /// The server broke the protocol.
    case protocolBroken
    /// The server or the network closed it; `reason` is human-readable.
    case lost(reason: String)
    /// TLS failed because of a certificate; `reason` is human-readable.
    case tlsRefused(reason: String)

    /// The fault for requests that it left unanswered.
    var fault: HTTP2Fault {
        switch self {
        case .closed, .sick, .retired, .allDeleted: HTTP2Fault(.closing)
        case .goAway(let errorCode, _): HTTP2Fault(.goAway, errorCode: errorCode)
        case .pingUnanswered: HTTP2Fault(.pingUnanswered)
        case .protocolBroken: HTTP2Fault(.protocolBroken)
        case .lost: HTTP2Fault(.connectionLost)
        case .tlsRefused: HTTP2Fault(.tlsRefused)
        }
    }
}
