/// The sums of a ledger.
package struct LedgerTotals: Sendable, Codable, Equatable {
    /// Requests whose device was notified, answered or not.
    package var told = 0
    /// Answers that accepted the message: 200, or the provider's equivalent.
    package var accepted = 0
    /// All other answers, errors inside a 200 too.
    package var refused = 0
    /// Distinct tokens seen.
    package var tokens = 0
    /// Tokens notified more than once.
    package var tokensToldTwice = 0
    /// Requests that notified a device again under the same id of the message.
    package var duplicateIDs = 0
    package var byStatus: [String: Int] = [:]
    package var byReason: [String: Int] = [:]
    package var connections: ConnectionTotals
}

/// The answer for one device. A reason, even an empty one, makes it a refusal.
struct LedgerAnswer: Hashable {
    var status: Int
    var reason: String?

    var isRefusal: Bool { reason != nil }
}

/// A simulator's counts of its connections.
package struct ConnectionTotals: Sendable, Codable, Equatable {
    package var open = 0
    package var opened = 0
    package var closed = 0
    /// Refused on purpose during the TLS handshake.
    package var refused = 0
    /// The most streams seen open at once on one connection.
    package var streamsAtOnceMax = 0
    /// PING frames received that were not acknowledgements.
    package var pings = 0
    package var goAwaysSent = 0
    /// RST_STREAM frames sent by script, and received.
    package var resetsSent = 0
    package var resetsReceived = 0
    /// Requests that got no answer by script: stalled, silenced, lost.
    package var unanswered = 0
}

/// A ledger's record of one token.
package struct LedgerToken: Sendable, Codable, Equatable {
    package var token: String
    package var told: Int
    package var answered: Int
    package var refused: Int
    package var duplicateIDs: Int
    package var lastStatus: Int?
    /// Milliseconds since 1970.
    package var firstAt: Int64
    package var lastAt: Int64
    /// With detail `payloads` only.
    package var lastRequest: LedgerRequest?
}

/// The last request for a token, as it came.
package struct LedgerRequest: Sendable, Codable, Equatable {
    /// Header fields but `authorization`, in the order they came.
    package var headers: [Header]
    package var payload: String

    package struct Header: Sendable, Codable, Equatable {
        package var name: String
        package var value: String
    }

    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}
