/// The simulator's answer to one request: a status and, unless it is 200, a reason.
///
/// The reason is free text, so that a script can also name reasons that Apple does not have yet.
struct APNsVerdict {
    var status: Int
    var reason: String?
    /// When the token was last known to be invalid, in milliseconds since 1970. Comes with 410.
    var timestamp: Int64?
    /// Additional header fields.
    var fields: [(name: String, value: String)] = []
    /// The body that a script names.
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

    /// The ledger's form of it; nil is 200.
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
