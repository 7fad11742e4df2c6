import Synchronization

/// A record of what arrived at a simulator: how often each device was notified, and the answers.
///
/// Split into stripes by token, each with its own lock, so that event loops seldom contend. A token is in one stripe,
/// whatever connections it comes on, so a reader sees its complete history.
package final class Ledger: Sendable {
    /// How much is recorded of each request.
    package enum Detail: String, Sendable, Codable {
        /// Sums only.
        case totals
        /// Sums and counts by token.
        case tokens
        /// Also the last headers and payload of each token.
        case payloads
    }

    /// The text form of tokens for readers of the ledger.
    package enum TokenText: Sendable {
        /// Bytes, as hex digits.
        case hex
        /// Text, as it stands.
        case plain

        /// The bytes of a token in this form; nil when it is malformed.
        func bytes(of text: String) -> [UInt8]? {
            self == .hex ? Hex.decode(text) : Array(text.utf8)
        }
    }

    package let detail: Detail
    private let tokenText: TokenText
    private let stripes: [Stripe]
    private let connections = Mutex(ConnectionTotals())
    private let connectionsCounter = Atomic<Int>(0)
    private static let stripeCount = 64

    final class Stripe: Sendable {
        let table = Mutex(LedgerTable())
    }

    package init(detail: Detail, tokenText: TokenText = .hex) {
        self.detail = detail
        self.tokenText = tokenText
        self.stripes = (0..<Self.stripeCount).map { _ in Stripe() }
    }

    /// Clears everything except the open connections.
    package func reset() {
        for stripe in stripes { stripe.table.withLock { $0 = LedgerTable() } }
        connections.withLock { $0 = ConnectionTotals(open: $0.open) }
    }
}

// MARK: - Writing

extension Ledger {
    /// Records that the device was notified; `id` is the hash of the sender's own id of the message, when it gave one.
    func recordTold(_ token: UnsafeRawBufferPointer, hash: UInt64, id: UInt64?, at milliseconds: Int64) {
        stripe(hash).table.withLock {
            $0.recordTold(token, hash: hash, id: id, at: milliseconds, byToken: detail != .totals)
        }
    }

    /// Takes back that a device was notified: its request turned out to be after the last one of a GOAWAY.
    func takeBack(_ token: UnsafeRawBufferPointer, hash: UInt64, id: UInt64?) {
        stripe(hash).table.withLock { $0.takeBack(token, hash: hash, id: id) }
    }

    func recordAnswer(_ token: UnsafeRawBufferPointer, hash: UInt64, _ answer: LedgerAnswer, at milliseconds: Int64) {
        stripe(hash).table.withLock {
            $0.recordAnswer(token, hash: hash, answer, at: milliseconds, byToken: detail != .totals)
        }
    }

    func keep(_ request: LedgerRequest, for token: UnsafeRawBufferPointer, hash: UInt64) {
        stripe(hash).table.withLock { $0.keep(request, for: token, hash: hash) }
    }

    /// Counts a new connection and numbers it, from 1. Numbers continue after a reset.
    func numberConnection() -> Int {
        connections.withLock { $0.opened += 1 }
        return connectionsCounter.add(1, ordering: .relaxed).newValue
    }

    var connectionsEver: Int { connectionsCounter.load(ordering: .relaxed) }

    func recordConnection(_ change: (inout ConnectionTotals) -> Void) {
        connections.withLock { change(&$0) }
    }

    private func stripe(_ hash: UInt64) -> Stripe { stripes[Int(hash >> 58)] }
}

// MARK: - Reading

extension Ledger {
    package func totals() -> LedgerTotals {
        var totals = LedgerTotals(connections: connections.withLock { $0 })
        for stripe in stripes { stripe.table.withLock { $0.add(to: &totals) } }
        return totals
    }

    package func token(_ token: [UInt8]) -> LedgerToken? {
        token.withUnsafeBytes { bytes in
            let hash = StableHash.hash(bytes)
            return stripe(hash).table.withLock { table in
                table.find(bytes, hash: hash).map { table.token(at: $0, as: tokenText) }
            }
        }
    }

    /// Tokens in the ledger's own order, which is stable until it is reset.
    ///
    /// - Parameter after: the last token of the previous page.
    package func tokens(after: [UInt8]? = nil, limit: Int = 1000) -> [LedgerToken] {
        collect(after: after, limit: limit) { _ in true }
    }

    /// Tokens that were notified more than once.
    package func duplicates(after: [UInt8]? = nil, limit: Int = 1000) -> [LedgerToken] {
        collect(after: after, limit: limit) { $0.told > 1 }
    }

    private func collect(after: [UInt8]?, limit: Int, where wanted: (LedgerTable.Entry) -> Bool) -> [LedgerToken] {
        var found: [LedgerToken] = []
        var (number, index) = after.flatMap(position) ?? (0, 0)
        while number < stripes.count, found.count < limit {
            stripes[number].table.withLock { table in
                while index < table.entries.count, found.count < limit {
                    if wanted(table.entries[index]) { found.append(table.token(at: index, as: tokenText)) }
                    index += 1
                }
            }
            if found.count < limit { (number, index) = (number + 1, 0) }
        }
        return found
    }

    /// The position after this token.
    private func position(after token: [UInt8]) -> (stripe: Int, index: Int)? {
        token.withUnsafeBytes { bytes in
            let hash = StableHash.hash(bytes)
            return stripe(hash).table.withLock { $0.find(bytes, hash: hash) }.map { (Int(hash >> 58), $0 + 1) }
        }
    }
}

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
