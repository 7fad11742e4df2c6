import BelfryCore
import Logging

/// Turns pushes into pages: takes a due walk, writes its next devices down as pages, and hands it back.
///
/// A step is one transaction, so a spreader that dies between steps has lost nothing and doubled nothing. Walks take
/// turns after each step; a push to ten million devices does not keep the next one waiting.
struct Spreader: Sendable {
    let store: any DeliveryStore
    let lanes: [Lane]
    let options: DeliveryOptions
    let loop: PatientLoop
    let bell = Bell()

    private static let walksPerRound = 4

    func run() async throws {
        try await loop.run(until: bell) {
            let walks = try await store.claimWalks(atMost: Self.walksPerRound, lanes: lanes, for: options.lease)
            var open = walks[...]
            while let walk = open.first {
                do { try await step(walk) } catch let error as CancellationError {
                    try await handBack(open)
                    throw error
                }
                open.removeFirst()
            }
            return !walks.isEmpty
        }
    }

    /// A spreader that is called off lets others have at once what it did not come to.
    private func handBack(_ walks: ArraySlice<Walk>) async throws {
        for walk in walks { _ = try await store.advance(WalkStep(walk: walk, pages: [], isLast: false)) }
    }

    private func step(_ walk: Walk) async throws {
        let pages = walk.cursor == nil ? 1 : options.pagesPerStep
        let limit = pages * Page.devicesMax
        let devices = try await store.devices(in: walk, after: walk.cursor, limit: limit)
        let step = WalkStep(walk: walk, pages: devices.pages, isLast: devices.count < limit)
        guard try await store.advance(step) else {
            loop.logger.debug("walk was taken over", metadata: ["push.key": "\(walk.pushKey)"])
            return
        }
        Metric.spread(devices.count)
    }
}

extension [Key<Device>] {
    /// These in runs of a page each.
    fileprivate var pages: [[Key<Device>]] {
        stride(from: 0, to: count, by: Page.devicesMax).map { start in
            Array(self[start..<Swift.min(start + Page.devicesMax, count)])
        }
    }
}
