/// What the simulator answers to one request: a status and, unless it is 200, a reason.
///
/// The reason is free text, so that a script can also give what Apple has not invented yet.
package struct APNsVerdict: Sendable, Hashable, Codable {
    package var status: Int
    package var reason: String?
    /// When the token was last known to be invalid, in milliseconds since 1970. Comes with 410.
    package var timestamp: Int64?

    package init(status: Int, reason: String? = nil, timestamp: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
    }

    package init(_ reason: APNsReason, timestamp: Int64? = nil) {
        self.init(status: reason.status, reason: reason.rawValue, timestamp: timestamp)
    }

    package static let accepted = APNsVerdict(status: 200)

    /// What the ledger keeps of it; nil is 200.
    static func entry(_ verdict: APNsVerdict?) -> LedgerAnswer {
        LedgerAnswer(status: verdict?.status ?? 200, reason: verdict.map { $0.reason ?? "" })
    }

    /// The body of the answer: empty for 200, JSON otherwise.
    var body: String {
        guard let reason else { return "" }
        guard let timestamp else { return #"{"reason":"\#(reason)"}"# }
        return #"{"reason":"\#(reason)","timestamp":\#(timestamp)}"#
    }
}
