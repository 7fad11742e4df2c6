import Logging

/// Turns pushes into batches: takes a due fan-out, writes its next devices as batches, and hands it back.
///
/// A step is one transaction, so a fan-out worker that dies between steps has lost nothing and repeated nothing.
/// Fan-outs take turns after each step; a push to ten million devices does not delay the next one.
struct FanOutWorker: Sendable {
    let store: any DeliveryStore
    let lanes: [Lane]
    let options: DeliveryOptions
    let loop: RetryingLoop
    let wakeSignal = WakeSignal()

    private static let fanOutsPerRound = 4
    /// The number that follow where all of a round are urgent.
    private static let othersPerRound = 2

    func run() async throws {
        try await loop.run(wokenBy: wakeSignal) {
            let fanOuts = try await claimAndStep(atMost: Self.fanOutsPerRound, in: lanes)
            // Who sends much that is urgent holds up nobody's broadcasts: the urgent lane has a worker of its own besides.
            let others = lanes.filter { $0 != .urgent }
            if !others.isEmpty, fanOuts.count == Self.fanOutsPerRound, fanOuts.allSatisfy({ $0.lane == .urgent }) {
                _ = try await claimAndStep(atMost: Self.othersPerRound, in: others)
            }
            return !fanOuts.isEmpty
        }
    }

    private func claimAndStep(atMost limit: Int, in lanes: [Lane]) async throws -> [FanOut] {
        let end = loop.clock.now + options.lease
        let fanOuts = try await store.claimFanOuts(atMost: limit, lanes: lanes, for: options.lease)
        var open = fanOuts[...]
        while let fanOut = open.first {
            do { try await step(fanOut) } catch {
                // One that cannot be read is tried again when its lease has lapsed; the others are not its concern.
                let isPassing = error is CancellationError || (error as? StoreError)?.isPassing == true
                try await handBack(isPassing ? open : open.dropFirst(), by: end)
                throw error
            }
            open.removeFirst()
        }
        return fanOuts
    }

    /// Hands back the fan-outs not processed yet. While the database is away it is tried until their leases lapse.
    private func handBack(_ fanOuts: ArraySlice<FanOut>, by end: Instant) async throws {
        var open = fanOuts
        while let fanOut = open.first {
            do {
                _ = try await store.advance(FanOutStep(fanOut: fanOut, batches: [], isLast: false))
                open.removeFirst()
            } catch let error as StoreError where error.isPassing && loop.clock.now < end && !wakeSignal.isClosed {
                loop.logger.warning("fan-outs were not handed back", metadata: ["error": "\(error)"])
                try await loop.clock.sleep(for: loop.pause)
            }
        }
    }

    func step(_ fanOut: FanOut) async throws {
        let batches = fanOut.cursor == nil ? 1 : options.batchesPerStep
        let limit = fanOut.devicesPerStep(atMost: batches * Batch.devicesMax)
        let slice = try await store.slice(
            of: fanOut.audience, on: fanOut.platformKey, after: fanOut.cursor, limit: limit)
        let devices = slice.devices
        let step = FanOutStep(
            fanOut: fanOut, batches: devices.chunks(of: Batch.devicesMax), isLast: slice.end == nil, cursor: slice.end)
        guard try await store.advance(step) else {
            loop.logger.debug("fan-out was taken over", metadata: ["push.key": "\(fanOut.pushKey)"])
            return
        }
        DeliveryMetric.fanOut(devices.count)
    }
}

extension Array {
    /// The elements in chunks of this many.
    func chunks(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }

    /// Applies an async operation to a few elements at a time, so that a long job never holds the writer for long.
    package func inSteps<Result>(
        of count: Int, _ step: (_ elements: [Element], _ isFirst: Bool) async throws -> [Result]
    ) async throws -> [Result] {
        var results: [Result] = []
        for start in stride(from: 0, to: self.count, by: count) {
            results += try await step(Array(self[start..<Swift.min(start + count, self.count)]), start == 0)
        }
        return results
    }
}
