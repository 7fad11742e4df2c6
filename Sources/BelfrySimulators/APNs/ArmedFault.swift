import Synchronization

/// A rule of the script with its counters. Shared by all connections, so the counters are atomic.
final class ArmedFault: Sendable {
    let fault: APNsFault
    private let token: [UInt8]?
    private let tokenPrefix: [UInt8]?
    /// Tokens whose hash is below this are in the share.
    private let shareLimit: UInt64?
    /// How many connections had been opened when the rule was set.
    private let connectionsBefore: Int
    private let fitting = Atomic<Int>(0)
    private let happened = Atomic<Int>(0)

    init(_ fault: APNsFault, connectionsBefore: Int) {
        self.fault = fault
        self.token = fault.when.token.flatMap(Hex.decode)
        self.tokenPrefix = fault.when.tokenPrefix.flatMap(Hex.decode)
        self.shareLimit = fault.when.share.map { $0 >= 1 ? .max : UInt64($0 * 0x1p64) }
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

    var timesHappened: Int { happened.load(ordering: .relaxed) }

    /// Whether the rule strikes now. Counts the occasion.
    func strikes(_ occasion: Occasion) -> Bool {
        guard fits(occasion) else { return false }
        let number = fitting.add(1, ordering: .relaxed).newValue - (fault.when.after ?? 0)
        guard number > 0, number.isMultiple(of: fault.when.every ?? 1) else { return false }
        guard let times = fault.times else {
            happened.add(1, ordering: .relaxed)
            return true
        }
        if happened.add(1, ordering: .relaxed).oldValue < times { return true }
        happened.subtract(1, ordering: .relaxed)
        return false
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
        guard let shareLimit else { return true }
        // Not the ledger's own hash, whose top bits choose the stripe.
        return !bytes.isEmpty && StableHash.hash(bytes, salt: fault.when.salt ?? 0x5AFE) < shareLimit
    }
}
