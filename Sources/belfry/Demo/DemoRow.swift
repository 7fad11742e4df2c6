import BelfryCore

/// A line of the demo's summary: what became of a push, beside what must have.
struct DemoRow {
    let push: DemoPush
    let receipt: Receipt
    let took: Duration

    private var accepted: Int { receipt.counts[.accepted, default: 0] }
    private var gone: Int { receipt.counts[.gone, default: 0] }
    private var refused: Int { receipt.counts[.refused(.badToken), default: 0] }

    var isRight: Bool {
        (receipt.devices, accepted, refused, gone) == (push.devices, push.accepted, push.refused, push.gone)
    }

    static func show(_ rows: [DemoRow]) {
        Output.table(
            ["push", "devices", "accepted", "refused", "gone", "devices/s", "first ms", "last ms", ""],
            rows.map(\.cells))
    }

    private var cells: [String] {
        let settled = receipt.settledAt.map { $0 - receipt.push.acceptedAt }
        let rate = settled.map { Double(receipt.devices) * 1_000 / Double(max($0.milliseconds, 1)) }
        return [
            push.name, receipt.devices.grouped, accepted.grouped, refused.grouped, gone.grouped,
            rate.map { Int($0).grouped } ?? "-",
            receipt.firstAnswerAt.map { String(($0 - receipt.push.acceptedAt).milliseconds) } ?? "-",
            settled.map { String($0.milliseconds) } ?? "-",
            isRight ? "✓" : "✗ must be \(push.accepted)/\(push.refused)/\(push.gone)",
        ]
    }
}
