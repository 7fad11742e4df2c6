import BelfryService
import FoundationEssentials

/// The filter of the list of pushes, from the query of its address.
struct PushFilter: Sendable {
    private let state: State?
    private let lane: Lane?
    private let from: Instant?
    /// Excluded.
    private let until: Instant?
    private let text: String

    static let names = ["state", "urgency", "from", "until", "q"]

    private enum State: String, CaseIterable {
        case running, parked, damaged, done, cancelled

        func includes(_ receipt: Receipt) -> Bool {
            switch self {
            case .running: receipt.settledAt == nil
            case .parked: receipt.state == .parked
            case .damaged: receipt.state == .damaged
            case .done: receipt.settledAt != nil
            case .cancelled: receipt.counts[.skipped(.cancelled), default: 0] > 0
            }
        }

        /// Whether it is one of the open pushes, of which an index knows.
        var isOpen: Bool { self == .running || self == .parked || self == .damaged }

        var label: String {
            switch self {
            case .running: "sending"
            case .parked: "held back"
            case .damaged, .done, .cancelled: rawValue
            }
        }
    }

    static func isEmpty(_ query: FormData) -> Bool { names.allSatisfy { query[$0].isEmpty } }

    init(_ query: FormData) throws(InvalidInput) {
        state = State(rawValue: query["state"])
        lane = Lane.allCases.first { $0.word == query["urgency"] }
        from = try query.day("from")
        until = try query.day("until").map { $0 + .seconds(86_400) }
        text = query["q"].caseFolded
    }

    static func form(_ query: FormData, _ address: String) -> Form {
        .filter(
            address,
            [
                .text("q", "Text", query["q"], type: "search"),
                .select(
                    "state", "State", query["state"],
                    [("", "All")] + State.allCases.map { ($0.rawValue, $0.label) }),
                .select(
                    "urgency", "Urgency", query["urgency"], [("", "All")] + Lane.allCases.map { ($0.word, $0.word) }),
                .text("from", "From", query["from"], type: "date"),
                .text("until", "Until", query["until"], type: "date"),
            ])
    }

    // MARK: Finding

    struct Found: Sendable {
        var receipts: [Receipt] = []
        /// The place where the next part begins; nil at the end.
        var next: Key<Push>?
    }

    /// The most pushes that are looked through for one page; fewer with a text, which needs their content.
    private var lookedThroughMax: Int { text.isEmpty ? 500 : 150 }

    func find(in application: Application, before: Key<Push>?, limit: Int, _ visit: DashboardRequest) async throws
        -> Found
    {
        let store = visit.services.store
        if let state, state.isOpen, before == nil {
            let open = try await store.openReceipts(of: application.key, limit: lookedThroughMax)
            let withText = try await withText(open, store)
            var found = Found()
            found.receipts = Array(open.lazy.filter { includes($0, withText) }.prefix(limit))
            // The rest of very many is found one by one.
            if open.count == lookedThroughMax || found.receipts.count == limit {
                found.next = (found.receipts.count == limit ? found.receipts : open).last?.push.key
            }
            return found
        }
        var found = Found(receipts: [], next: before)
        var looked = 0
        while looked < lookedThroughMax {
            let some = try await store.receipts(of: application.key, before: found.next, limit: limit)
            let withText = try await withText(some, store)
            for receipt in some {
                if let from, receipt.push.acceptedAt < from { return Found(receipts: found.receipts) }
                found.next = receipt.push.key
                looked += 1
                if includes(receipt, withText) { found.receipts.append(receipt) }
                if found.receipts.count == limit { return found }
            }
            if some.count < limit { return Found(receipts: found.receipts) }
        }
        return found
    }

    /// Whether the message of each push has the text; empty where none is looked for.
    private func withText(_ receipts: [Receipt], _ store: any ReceiptStore) async throws -> [Key<Push>: Bool] {
        guard !text.isEmpty else { return [:] }
        return try await store.contents(of: receipts.map(\.push.key)) { [text] in
            $0.shown.caseFolded.contains(text)
        }
    }

    private func includes(_ receipt: Receipt, _ withText: [Key<Push>: Bool]) -> Bool {
        let push = receipt.push
        if let state, !state.includes(receipt) { return false }
        if let lane, lane != push.lane { return false }
        if let from, push.acceptedAt < from { return false }
        if let until, push.acceptedAt >= until { return false }
        return text.isEmpty || withText[push.key] == true
    }
}

extension Duration {
    /// The duration in seconds, with a tenth where it is short.
    var inSeconds: String {
        let milliseconds = max(0, Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
        switch milliseconds {
        case ..<10_000: return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
        case ..<120_000: return "\(milliseconds / 1_000) s"
        case ..<7_200_000: return "\(milliseconds / 60_000) min"
        default: return "\(milliseconds / 3_600_000) h"
        }
    }
}
