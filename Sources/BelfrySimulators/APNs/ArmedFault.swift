/// A rule of the script with its counters.
final class ArmedFault: Sendable {
    let fault: APNsFault
    private let token: [UInt8]?
    private let tokenPrefix: [UInt8]?
    private let share: TokenShare?
    /// How many connections had been opened when the rule was set.
    private let connectionsBefore: Int
    private let counter: StrikeCounter

    init(_ fault: APNsFault, connectionsBefore: Int) {
        self.fault = fault
        self.token = fault.when.token.flatMap(Hex.decode)
        self.tokenPrefix = fault.when.tokenPrefix.flatMap(Hex.decode)
        self.share = fault.when.share.map { TokenShare($0, salt: fault.when.salt) }
        self.counter = StrikeCounter(after: fault.when.after, every: fault.when.every, times: fault.times)
        self.connectionsBefore = connectionsBefore
    }

    /// What a rule may ask about.
    struct Occasion {
        /// Counted from 1 since the simulator started.
        var connection: Int
        /// Counted from 1 on the connection; 0 when the connection has only just opened.
        var request = 0
        var token = UnsafeRawBufferPointer(start: nil, count: 0)
        var topic: String?
    }

    var timesHappened: Int { counter.timesHappened }

    /// Whether the rule strikes now. Counts the occasion.
    func strikes(_ occasion: Occasion) -> Bool {
        fits(occasion) && counter.strikes()
    }

    private func fits(_ occasion: Occasion) -> Bool {
        let when = fault.when
        if let connection = when.connection, occasion.connection != connectionsBefore + connection { return false }
        if let request = when.request, occasion.request != request { return false }
        if let first = when.requestsFrom, occasion.request < first { return false }
        if let topic = when.topic, occasion.topic != topic { return false }
        return fitsToken(occasion.token)
    }

    private func fitsToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let token, !bytes.elementsEqual(token) { return false }
        if let tokenPrefix, !bytes.starts(with: tokenPrefix) { return false }
        return share?.contains(bytes) ?? true
    }
}
