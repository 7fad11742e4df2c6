import BelfryService

/// A line of the demo's summary: the result of a push, beside the expected one.
struct DemoRow {
    let push: DemoPush
    let receipt: Receipt

    private var tally: DemoTally { DemoTally(receipt.counts) }

    var isRight: Bool { tally == push.expected }

    static func show(_ rows: [DemoRow]) {
        Output.table(["push"] + DemoTally.head + ["devices/s", "first ms", "last ms", ""], rows.map(\.cells))
    }

    private var cells: [String] {
        let settled = receipt.settledAt.map { $0 - receipt.push.acceptedAt }
        let rate = settled.map { Double(receipt.devices) * 1_000 / Double(max($0.milliseconds, 1)) }
        return [push.name] + tally.cells + [
            rate.map { Int($0).grouped } ?? "-",
            receipt.firstAnswerAt.map { String(($0 - receipt.push.acceptedAt).milliseconds) } ?? "-",
            settled.map { String($0.milliseconds) } ?? "-", tally.verdict(expecting: push.expected),
        ]
    }
}

/// A line of the second table: the results of all pushes on one platform.
struct DemoPlatformRow {
    let provider: any DemoProvider
    let registered: Int
    let expected: DemoTally
    let found: DemoTally

    /// A provider that answers at once gets one request for each device; a slow one may get more.
    var isRight: Bool { found == expected && provider.told >= found.accepted }

    static func show(_ rows: [DemoPlatformRow]) {
        Output.table(
            ["platform", "provider", "registered"] + DemoTally.head + ["told", ""],
            rows.map { row in
                [row.provider.kind.rawValue, row.provider.name, row.registered.grouped] + row.found.cells + [
                    row.provider.told.grouped, row.found.verdict(expecting: row.expected),
                ]
            })
    }
}
