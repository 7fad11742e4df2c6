import Foundation
import Testing

@testable import BelfryService

@Suite struct PushEventTests {
    private static let push = PushHead(
        key: Key(1), receiptID: UUID(), applicationKey: Key(1), lane: .normal, guarantee: .atLeastOnce,
        acceptedAt: .zero, expiresAt: nil)
    private static let parking = Parking(cause: .credentials, detail: "403", since: .zero)

    private static func receipt(
        _ counts: [Answer: Int] = [:], isFannedOut: Bool = false, isParked: Bool = false, isSettled: Bool = false
    ) -> Receipt {
        Receipt(
            push: push, isFannedOut: isFannedOut, counts: counts, settledAt: isSettled ? .zero : nil,
            firstAnswerAt: nil,
            parked: isParked ? [ParkedPlatform(uuid: UUID(), name: "iPhones", parking: parking)] : [])
    }

    @Test(
        arguments: [
            (nil, receipt(), [.accepted]),
            (nil, receipt([.accepted: 1], isFannedOut: true, isSettled: true), [.accepted, .settled]),
            (nil, receipt(isParked: true), [.accepted, .parked]),
            (receipt(), receipt(), []),
            (receipt(), receipt([.pending: 5]), [.progress]),
            (receipt([.pending: 5]), receipt([.pending: 5], isFannedOut: true), [.progress]),
            (receipt([.pending: 5]), receipt([.pending: 5], isParked: true), [.parked]),
            (receipt([.pending: 5], isParked: true), receipt([.pending: 4, .gone: 1]), [.resumed]),
            (receipt([.pending: 5], isParked: true), receipt([.gone: 5], isSettled: true), [.settled]),
            (receipt([.pending: 5]), receipt([.accepted: 5], isFannedOut: true, isSettled: true), [.settled]),
            (receipt([.accepted: 5], isSettled: true), receipt([.accepted: 5], isSettled: true), []),
        ] as [(Receipt?, Receipt, [PushEvent.Kind])])
    func `the difference of two receipts is what happened`(old: Receipt?, new: Receipt, kinds: [PushEvent.Kind]) {
        let events = PushEvent.events(from: old, to: new)
        #expect(events.map(\.kind) == kinds)
        #expect(events.allSatisfy { $0.receipt == new })
    }
}

/// The whole of a receipt is longer than a line.
extension Receipt: CustomTestStringConvertible {
    package var testDescription: String {
        "\(state), \(counts.map { "\($0.value) \($0.key.name)" }.sorted().joined(separator: ", "))"
    }
}
