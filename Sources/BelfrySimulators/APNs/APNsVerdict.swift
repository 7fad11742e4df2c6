/// What the simulator answers to one request: a status and, unless it is 200, a reason.
///
/// The reason is free text, so that a script can also give what Apple has not invented yet.
struct APNsVerdict {
    var status: Int
    var reason: String?
    /// When the token was last known to be invalid, in milliseconds since 1970. Comes with 410.
    var timestamp: Int64?
    /// Header fields beside those that APNs has.
    var fields: [(name: String, value: String)] = []
    /// The body where a script states one.
    var scriptedBody: String?

    init(status: Int, reason: String? = nil, timestamp: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
    }

    init(_ reason: APNsReason, timestamp: Int64? = nil) {
        self.init(status: reason.status, reason: reason.rawValue, timestamp: timestamp)
    }

    init(_ answer: ScriptedAnswer) {
        status = answer.status ?? answer.reason.flatMap { APNsReason(rawValue: $0)?.status } ?? 500
        reason = answer.reason
        timestamp = answer.timestamp
        fields = (answer.headers ?? [:]).sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0.value) }
        if let retryAfter = answer.retryAfter { fields.append(("retry-after", retryAfter)) }
        scriptedBody = answer.body
    }

    /// What the ledger keeps of it; nil is 200.
    static func entry(_ verdict: APNsVerdict?) -> LedgerAnswer {
        LedgerAnswer(status: verdict?.status ?? 200, reason: verdict.map { $0.reason ?? "" })
    }

    /// The body of the answer: empty for 200, JSON otherwise.
    var body: String {
        if let scriptedBody { return scriptedBody }
        guard let reason else { return "" }
        guard let timestamp else { return #"{"reason":"\#(reason)"}"# }
        return #"{"reason":"\#(reason)","timestamp":\#(timestamp)}"#
    }
}
