import Logging

/// Sends a burst of batches to their provider and stores the outcome of each device.
///
/// A claimed batch is a lease. When a worker dies, the lease lapses and another worker sends the batch again: a device
/// may be notified twice, but none is missed. Where the provider supports it, the repeated message replaces the first. A
/// lapsed batch of an at-most-once push is settled as `unknown` instead.
struct DeliveryWorker: Sendable {
    let store: any DeliveryStore
    let providers: any ProviderDirectory
    let policy: RetryPolicy
    let clock: any WallClock
    /// How long a claim holds.
    let lease: Duration
    /// How long after the claim a worker begins to send. It hands back what is left of a burst then.
    let begunWithin: Duration
    let random: @Sendable () -> Double
    let deadTokenBreakers: DeadTokenBreakers
    let credentials: CredentialsJudge
    let faults: ConnectionFaultReporter
    let pushObserver: any PushObserver
    let linkKeys: any LinkKeys
    let logger: Logger
    /// The turns of loads that are not urgent. A full batch holds one of the store's few readers for some milliseconds, and requests and
    /// urgent pushes have to find one free.
    private let loads = FairQueue(FairTurns<Key<Platform>>(places: 3, waitingMax: .max))

    /// Never throws: a batch whose settlement cannot be written lapses and is sent again.
    ///
    /// - Parameter claimedAt: nil for now.
    func deliver(_ burst: [Batch], claimedAt: Instant? = nil) async {
        var open = burst[...]
        let claimedAt = claimedAt ?? clock.now
        do {
            while !open.isEmpty {
                // The rest would lapse while it is sent, and be sent twice.
                guard clock.now < claimedAt + begunWithin else { return try await handBack(Array(open)) }
                do {
                    let (loads, prepared) = try await unsent {
                        let loads = try await load(Array(open))
                        let parts = zip(open, loads).compactMap { batch, load in
                            load.map { LoadedBatch(batch: batch, load: $0) }
                        }
                        return (loads, try await prepare(parts))
                    }
                    // The turn of a load and its reads may have taken long.
                    guard clock.now < claimedAt + begunWithin else { return try await handBack(Array(open)) }
                    try await deliver(prepared, claimedAt: claimedAt)
                    open = open.dropFirst(loads.count)
                } catch let error as Unsent {
                    try await handBack(Array(open), after: error.cause is CancellationError ? .zero : Self.pause)
                    throw error.cause
                }
            }
        } catch is CancellationError {
            return
        } catch {
            DeliveryMetric.fault()
            logger.error(
                "batches were not settled: they are handed back, or their leases will lapse",
                metadata: ["batch.keys": "\(open.map(\.key))", "error": "\(error)"])
        }
    }

    /// A fault before any device was notified.
    private struct Unsent: Error { let cause: any Error }

    private func unsent<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as ProviderError {
            throw error
        } catch {
            throw Unsent(cause: error)
        }
    }

    /// A batch with what the store loaded for it.
    private struct LoadedBatch {
        let batch: Batch
        let load: BatchLoad

        /// The part with its devices that have no verdict, or the one.
        func paced(_ verdicts: [Key<Device>: PacingVerdict], _ verdict: PacingVerdict?) -> (Push, [Recipient]) {
            var push = load.push
            push.content.pacing.isPassive = verdict == .passive
            return (push, load.recipients.filter { verdicts[$0.device] == verdict })
        }

        func filled(_ filling: (Key<Device>) -> PersonalizedValues) -> LoadedBatch {
            let recipients = load.recipients.map {
                Recipient(
                    device: $0.device, token: $0.token, registeredAt: $0.registeredAt, filling: filling($0.device))
            }
            return LoadedBatch(
                batch: batch, load: BatchLoad(push: load.push, platform: load.platform, recipients: recipients))
        }
    }

    /// The result of a part.
    private struct Sent {
        let part: LoadedBatch
        var settlement: Settlement
        var outcomes: [Outcome] = []
    }

    /// Loads the batches, as far as they fit into memory together.
    private func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        guard let first = batches.first, first.lane != .urgent else { return try await store.load(batches) }
        return try await loads.run(for: first.platformKey) { try await store.load(batches) }
    }

    /// A lapsed batch is left to lapse again: devices may already have been notified, and a clean hand-back would hide
    /// that.
    private func handBack(_ batches: [Batch], after pause: Duration = .zero) async throws {
        let fresh = batches.filter { !$0.isLapsed }
        guard !fresh.isEmpty else { return }
        _ = try await store.settle(fresh.map { Settlement(handingBack: $0, at: clock.now + pause) })
    }

    /// How long batches wait that could not be read.
    private static let pause = Duration.seconds(10)

    private func deliver(_ prepared: Prepared, claimedAt: Instant) async throws {
        guard let platform = prepared.platform else { return }
        let sent = checkDeadTokens(
            try await send(prepared, by: claimedAt + begunWithin, on: platform), claimedAt: claimedAt, on: platform)
        let areSettled = try await settle(sent.map(\.settlement), by: claimedAt + lease)
        for (sent, isSettled) in zip(sent, areSettled) {
            if isSettled { report(sent.settlement, of: sent.part.load) } else { reportLoss(of: sent.part.batch) }
        }
        if let request = sent.first(where: { $0.settlement.parkRequest != nil })?.settlement.parkRequest {
            report(request, of: platform)
        }
        let settled = zip(sent, areSettled).filter(\.1).map(\.0)
        try await faults.report(settled.map(\.outcomes), of: platform)
        for sent in settled {
            pushObserver.settled(sent.part.load.push.head, sent.settlement)
            pushObserver.pushMayHaveChanged(sent.part.load.push.head)
        }
    }

    /// Without their settlement batches are sent again, and devices notified twice: it is tried until the leases lapse.
    private func settle(_ settlements: [Settlement], by end: Instant) async throws -> [Bool] {
        while true {
            do {
                return try await store.settle(settlements)
            } catch let error as StoreError {
                guard clock.now < end, error.isPassing else { throw error }
                logger.warning("batches were not settled, and are tried again", metadata: ["error": "\(error)"])
            }
            try await clock.sleep(for: Self.settlementPause)
        }
    }

    private static let settlementPause = Duration.seconds(1)

    /// Batches of a platform before anything is sent.
    private struct Prepared {
        var platform: Platform?
        /// Batches that are not to be sent any more.
        var ended: [Sent] = []
        var open: [LoadedBatch] = []
        var verdicts: [Key<Batch>: [Key<Device>: PacingVerdict]] = [:]
    }

    private func prepare(_ parts: [LoadedBatch]) async throws -> Prepared {
        guard let platform = parts.first?.load.platform else { return Prepared() }
        var prepared = Prepared(platform: platform)
        for part in parts {
            let batch = part.batch
            if batch.attempt == 1 {
                DeliveryMetric.batchTaken(in: batch.lane, age: clock.now - part.load.push.acceptedAt)
            }
            if let settlement = ending(of: part) {
                prepared.ended.append(Sent(part: part, settlement: settlement))
            } else {
                prepared.open.append(part)
            }
        }
        prepared.verdicts = try await verdicts(on: prepared.open)
        prepared.open = try await fill(prepared.open, prepared.verdicts, on: platform)
        // What is sent at most once has to be known as claimed, whatever happens.
        if prepared.open.contains(where: { $0.load.push.guarantee == .atMostOnce }) { try await store.awaitDisk() }
        return prepared
    }

    /// All batches that are to be sent leave together.
    private func send(_ prepared: Prepared, by end: Instant, on platform: Platform) async throws -> [Sent] {
        let open = prepared.open
        var sent = prepared.ended
        guard !open.isEmpty else {
            await credentials.nothingWasSent(on: platform)
            return sent
        }
        do {
            let provider = try await unsent { try await providers.provider(for: platform) }
            let outcomes = try await send(open, prepared.verdicts, until: end, by: provider, on: platform)
            let parkRequest =
                credentials.areInQuestion(outcomes, on: platform)
                ? await credentials.judge(
                    zip(open, outcomes).map { ($0.load.recipients, $1) }, by: provider, on: platform) : nil
            for (part, outcomes) in zip(open, outcomes) {
                let settlement = Settlement(
                    of: part.batch, sending: part.load, outcomes: outcomes, policy: policy, now: clock.now,
                    jitter: random(), parkRequest: parkRequest)
                sent.append(Sent(part: part, settlement: settlement, outcomes: outcomes))
            }
        } catch ProviderError.credentials(let words) {
            let parkRequest = Settlement.ParkRequest(Parking(refused: words, at: clock.now), of: platform)
            sent += open.map {
                Sent(part: $0, settlement: Settlement(handingBack: $0.batch, at: clock.now, parkRequest: parkRequest))
            }
        }
        return sent
    }

    /// Finds out what differs by device, for pushes that have such. A batch that another worker has claimed since is left out: it
    /// must not show numbers that are that worker's to show. A device that rules leave out, or let wait, counts nothing.
    private func fill(
        _ parts: [LoadedBatch], _ verdicts: [Key<Batch>: [Key<Device>: PacingVerdict]], on platform: Platform
    ) async throws -> [LoadedBatch] {
        var requests: [FillingRequest] = []
        var places: [Int] = []
        for (place, part) in parts.enumerated() where part.load.isPersonal {
            requests.append(
                FillingRequest(
                    batch: part.batch, applicationKey: platform.applicationKey,
                    devices: part.load.recipients.map(\.device).filter {
                        verdicts[part.batch.key]?[$0]?.outcome == nil
                    },
                    badge: part.load.push.content.badgeChange(on: platform.kind),
                    needs: PersonalizationNeeds(try part.load.push.content.placeholders())))
            places.append(place)
        }
        guard !requests.isEmpty else { return parts }
        let signing =
            requests.contains { $0.needs.links }
            ? try await linkKeys.signing(for: platform.applicationKey) : nil
        var filled: [LoadedBatch?] = parts
        for ((place, request), values) in zip(zip(places, requests), try await store.fill(requests)) {
            filled[place] = values.map { values in
                let links =
                    request.needs.links
                    ? signing.map { LinkSigner(push: parts[place].load.push.head, sign: $0) } : nil
                return parts[place].filled {
                    PersonalizedValues(values[$0] ?? PersonalizedValues.Values(), links: links)
                }
            }
            if values == nil { reportLoss(of: parts[place].batch) }
        }
        return filled.compactMap(\.self)
    }

    /// The settlement of a batch that is not to be sent any more; nil for one that is to be sent.
    private func ending(of part: LoadedBatch) -> Settlement? {
        let push = part.load.push
        if part.batch.isCancelled { return Settlement(cancelled: part.batch) }
        if part.batch.isLapsed, push.guarantee == .atMostOnce {
            return Settlement(abandoned: part.batch, at: clock.now)
        }
        return policy.end(of: push) <= clock.now ? Settlement(expired: part.batch) : nil
    }

    /// The verdicts of rules, by batch; a batch whose push has none is missing.
    private func verdicts(on parts: [LoadedBatch]) async throws -> [Key<Batch>: [Key<Device>: PacingVerdict]] {
        let ruled = parts.filter { !$0.load.push.content.pacing.rules.isEmpty && !$0.load.recipients.isEmpty }
        guard !ruled.isEmpty else { return [:] }
        let verdicts = try await store.pace(ruled.map { PacingRequest($0.batch, $0.load) })
        return Dictionary(zip(ruled.map(\.batch.key), verdicts), uniquingKeysWith: { first, _ in first })
    }

    /// Sends to devices without a verdict, and in another form to those that are told without a sound. From `end` on the leases may
    /// lapse while the second form is sent, so it is left to the next attempt.
    private func send(
        _ parts: [LoadedBatch], _ verdicts: [Key<Batch>: [Key<Device>: PacingVerdict]], until end: Instant,
        by provider: any Provider, on platform: Platform
    ) async throws -> [[Outcome]] {
        guard !verdicts.isEmpty else { return try await send(parts, by: provider, on: platform) }
        var outcomes: [Key<Batch>: [Key<Device>: Outcome]] = [:]
        for verdict in [nil, PacingVerdict.passive] {
            let forms = parts.map { part in
                let (push, recipients) = part.paced(verdicts[part.batch.key] ?? [:], verdict)
                let load = BatchLoad(push: push, platform: part.load.platform, recipients: recipients)
                return LoadedBatch(batch: part.batch, load: load)
            }.filter { !$0.load.recipients.isEmpty }
            guard !forms.isEmpty, outcomes.isEmpty || clock.now < end else { continue }
            do {
                for (form, answers) in zip(forms, try await send(forms, by: provider, on: platform)) {
                    for (recipient, outcome) in zip(form.load.recipients, answers) {
                        outcomes[form.batch.key, default: [:]][recipient.device] = outcome
                    }
                }
            } catch is Unsent where !outcomes.isEmpty {
                continue
            }
        }
        return parts.map { part in
            part.load.recipients.map { recipient in
                verdicts[part.batch.key]?[recipient.device]?.outcome
                    ?? outcomes[part.batch.key]?[recipient.device] ?? .failed(retryAfter: nil)
            }
        }
    }

    private func send(
        _ parts: [LoadedBatch], by provider: any Provider, on platform: Platform
    ) async throws -> [[Outcome]] {
        guard !platform.parkedServices.isEmpty else {
            return await send(parts.map { ($0.load.push, $0.load.recipients) }, by: provider, on: platform.kind)
        }
        let held = try await unsent {
            try await credentials.hold(parts.map(\.load.recipients), by: provider, on: platform)
        }
        let open = zip(parts, held).map { part, held in
            (part.load.push, zip(part.load.recipients, held).filter { $1 == nil }.map(\.0))
        }
        return zip(held, await send(open, by: provider, on: platform.kind)).map { held, outcomes in
            var rest = outcomes[...]
            return held.map { $0 ?? rest.popFirst() ?? .failed(retryAfter: nil) }
        }
    }

    private func send(
        _ parts: [(push: Push, recipients: [Recipient])], by provider: any Provider, on kind: PlatformKind
    ) async -> [[Outcome]] {
        let withRecipients = parts.indices.filter { !parts[$0].recipients.isEmpty }
        var outcomes = [[Outcome]](repeating: [], count: parts.count)
        guard !withRecipients.isEmpty else { return outcomes }
        let start = ContinuousClock.now
        let answers = await provider.send(withRecipients.map { parts[$0] })
        DeliveryMetric.sent(to: kind, in: start.duration(to: .now))
        for (index, answered) in zip(withRecipients, answers) { outcomes[index] = answered }
        return outcomes
    }

    private func checkDeadTokens(_ sent: [Sent], claimedAt: Instant, on platform: Platform) -> [Sent] {
        sent.map { sent in
            var sent = sent
            sent.settlement = deadTokenBreakers.observe(
                sent.settlement, on: platform, claimedAt: claimedAt, at: clock.now)
            return sent
        }
    }

    private func reportLoss(of batch: Batch) {
        DeliveryMetric.leaseLost()
        logger.warning("batch was settled by another delivery worker", metadata: ["batch.key": "\(batch.key)"])
    }

    private func report(_ settlement: Settlement, of load: BatchLoad) {
        DeliveryMetric.settled(settlement)
        if settlement.retryAt == nil {
            let age = clock.now - load.push.acceptedAt
            DeliveryMetric.delivered(in: settlement.batch.lane, to: load.platform.kind, after: age)
        }
        logger.debug(
            "batch settled",
            metadata: ["batch.key": "\(settlement.batch.key)", "answers": "\(settlement.note?.words ?? [])"])
    }

    /// A platform that is parked already has been reported.
    private func report(_ request: Settlement.ParkRequest, of platform: Platform) {
        guard request.probe == nil else { return }
        DeliveryMetric.parked()
        let parking = request.parking
        let parked = ParkedPlatform(uuid: platform.uuid, name: platform.name, parking: parking)
        logger.error(
            parking.probe == nil
                ? "platform is parked until an operator acts" : "platform is parked, and is tried again by itself",
            metadata: [
                "platform.uuid": "\(parked.uuid.lowercased)", "platform.name": "\(parked.name)",
                "cause": "\(parking.cause.rawValue)", "detail": "\(parking.detail)", "remedy": "\(parked.remedy)",
                "next_probe_at": "\(parking.probe?.at.text ?? "never")",
            ])
    }
}

extension BatchLoad {
    /// Whether there is something to count, or to fill in.
    fileprivate var isPersonal: Bool {
        !recipients.isEmpty && (push.content.variesInText || push.content.badgeChange(on: platform.kind) != nil)
    }
}
