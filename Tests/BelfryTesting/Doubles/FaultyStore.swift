package import BelfryService
import FoundationEssentials

/// A store with a planted fault, to prove that the checks detect it.
package struct FaultyStore: ForwardedPorts {
    package let base: any DeliveryPorts
    private let memory: MemoryStore
    private let planted: Fault

    package enum Fault: String, Sendable, CaseIterable {
        case settlesWithoutFence, forgetsSettlements, leasesNothing, forgetsLapses, losesDevices, writesBatchesTwice
        case believesEveryDeadToken, deactivatesOnRefusedCredentials, skipsTheReachable, refusesToAdvance
        case sendsSchedulesTwice, cancelsInVain, forgetsSchedules, forgetsRetryTimes, prolongsRetryTimes
        case cancelsPushesInVain, forgetsCancelledLeases, parksAtOneRefusal, forgetsProbes, forgetsCaps
        case forgetsRuns, forgetsTimeZones, endsAtFirstStep, startsTwice, cancelsParentsAlone
    }

    package init(_ base: MemoryStore, _ planted: Fault) {
        self.base = base
        self.planted = planted
        memory = base
    }

    package func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]] {
        switch planted {
        case .leasesNothing:
            let claim = BatchClaim(
                burstsMax: claim.burstsMax, lanes: claim.lanes, room: claim.room, roomElsewhere: claim.roomElsewhere,
                lease: .milliseconds(100), burst: claim.burst)
            return try await base.claimBursts(claim)
        case .forgetsLapses:
            return try await claimed(claim) {
                $0.with(answers: $0.answers, attempt: $0.attempt, isLapsed: false, retryTimes: $0.retryTimes)
            }
        case .forgetsRetryTimes:
            return try await claimed(claim) {
                $0.with(answers: $0.answers, attempt: $0.attempt, isLapsed: $0.isLapsed)
            }
        case .prolongsRetryTimes:
            return try await claimed(claim) {
                $0.with(
                    answers: $0.answers, attempt: $0.attempt, isLapsed: $0.isLapsed,
                    retryTimes: $0.isLapsed ? $0.retryTimes.mapValues { $0 + .seconds(60) } : $0.retryTimes)
            }
        default:
            return try await base.claimBursts(claim)
        }
    }

    package func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]] {
        let verdicts = try await base.pace(requests)
        guard planted == .forgetsCaps else { return verdicts }
        return verdicts.map { $0.filter { $0.value != .skip(.capped) } }
    }

    private func claimed(_ claim: BatchClaim, _ change: (Batch) -> Batch) async throws -> [[Batch]] {
        try await base.claimBursts(claim).map { $0.map(change) }
    }

    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] {
        let loads = try await base.load(batches)
        guard planted == .skipsTheReachable else { return loads }
        return loads.map { load in
            load.map {
                BatchLoad(push: $0.push, platform: $0.platform, recipients: Array($0.recipients.dropLast()))
            }
        }
    }

    package func advance(_ step: FanOutStep) async throws -> Bool {
        switch planted {
        case .losesDevices:
            let batches = step.batches.map { Array($0.dropFirst()) }
            return try await base.advance(FanOutStep(fanOut: step.fanOut, batches: batches, isLast: step.isLast))
        case .writesBatchesTwice:
            return try await base.advance(
                FanOutStep(fanOut: step.fanOut, batches: step.batches + step.batches, isLast: step.isLast))
        case .refusesToAdvance:
            return false
        default:
            return try await base.advance(step)
        }
    }

    package func settle(_ settlements: [Settlement]) async throws -> [Bool] {
        switch planted {
        case .settlesWithoutFence: try await base.settle(settlements.map(forged))
        case .forgetsSettlements: settlements.map { _ in true }
        case .believesEveryDeadToken:
            try await base.settle(settlements.map { settlement in deadly(settlement) { $0 == .gone } })
        case .deactivatesOnRefusedCredentials:
            try await base.settle(
                settlements.map { settlement in
                    settlement.parkRequest == nil ? settlement : deadly(settlement) { $0 == .pending }
                })
        case .parksAtOneRefusal: try await base.settle(settlements.map(hasty))
        case .forgetsProbes: try await forgettingProbes { try await base.settle(settlements) }
        default: try await base.settle(settlements)
        }
    }

    /// The settlement, with the platform parked for what one device was answered.
    private func hasty(_ settlement: Settlement) -> Settlement {
        guard settlement.parkRequest == nil,
            settlement.note?.words.contains(where: { $0.hasPrefix("credentials refused") }) ?? false,
            let platform = memory.contents.platforms[settlement.batch.platformKey]
        else { return settlement }
        return settlement.parking(Settlement.ParkRequest(Parking(refused: "once", at: .zero), of: platform))
    }

    private func forgettingProbes(_ settle: () async throws -> [Bool]) async throws -> [Bool] {
        let areDone = try await settle()
        memory.tamper { contents in
            for (key, platform) in contents.platforms {
                guard let parked = platform.parked, parked.probe != nil else { continue }
                contents.platforms[key] = platform.with(
                    parked: Parking(cause: parked.cause, detail: parked.detail, since: parked.since))
            }
        }
        return areDone
    }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        if planted == .sendsSchedulesTwice { _ = try await base.accept(twin(of: push)) }
        let accepted = try await base.release(schedule, as: push)
        if planted == .endsAtFirstStep, schedule.local != nil, let accepted {
            memory.tamper {
                $0.schedules[schedule.key] = schedule.ended(
                    .sent(receiptID: accepted.receiptID), at: accepted.acceptedAt)
            }
        }
        return accepted
    }

    package func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun] {
        planted == .forgetsRuns ? [] : try await base.runs(of: schedule)
    }

    package func timeZones(of application: Key<Application>) async throws -> [String] {
        planted == .forgetsTimeZones ? [] : try await base.timeZones(of: application)
    }

    package func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool {
        let isStarted = try await base.start(occurrence, of: schedule)
        if planted == .startsTwice, isStarted {
            memory.tamper { contents in
                let twin = Schedule(
                    key: contents.nextKey(), applicationKey: schedule.applicationKey,
                    pushRequest: schedule.pushRequest(of: occurrence), dueAt: occurrence.dueAt,
                    createdAt: schedule.createdAt, version: 1, ending: nil)
                contents.schedules[twin.key] = twin
            }
        }
        return isStarted
    }

    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        if planted == .cancelsParentsAlone { return try await cancelAlone(key, of: application) }
        guard planted == .cancelsInVain else { return try await base.cancel(key, of: application) }
        return try await base.schedule(key, of: application)?.ending == nil
    }

    private func cancelAlone(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        let waiting = memory.contents.schedules.filter { $0.value.local?.parent == key && $0.value.ending == nil }
        let isCancelled = try await base.cancel(key, of: application)
        memory.tamper { $0.schedules.merge(waiting) { $1 } }
        return isCancelled
    }

    package func cancel(_ push: Key<Push>) async throws -> Cancellation {
        guard planted != .cancelsPushesInVain else { return .nothing }
        let cancellation = try await base.cancel(push)
        if planted == .forgetsCancelledLeases {
            memory.tamper { contents in
                for (key, row) in contents.batches where row.batch.isCancelled {
                    contents.batches[key]?.batch = row.batch.with(
                        answers: row.batch.answers, attempt: row.batch.attempt, isLapsed: row.batch.isLapsed,
                        retryTimes: row.batch.retryTimes, isCancelled: false)
                }
            }
        }
        return cancellation
    }

    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        planted == .forgetsSchedules ? [] : try await base.dueSchedules(atMost: limit)
    }

    /// Copies a push with a new receipt id. With the old one it would be taken for a repeated request.
    private func twin(of push: NewPush) -> NewPush {
        NewPush(
            receiptID: UUID(), applicationKey: push.applicationKey, content: push.content, audience: push.audience,
            platformKeys: push.platformKeys, lane: push.lane, guarantee: push.guarantee, expiresAt: push.expiresAt,
            named: push.named)
    }

    /// The settlement, as if its delivery worker had claimed the batch last.
    private func forged(_ settlement: Settlement) -> Settlement {
        memory.tamper { $0.batches[settlement.batch.key]?.lease.isHeld = true }
        guard let batch = memory.contents.batches[settlement.batch.key]?.batch else { return settlement }
        return Settlement(
            batch: batch, answers: settlement.answers, retryAt: settlement.retryAt, retryTimes: settlement.retryTimes,
            deadTokens: settlement.deadTokens, moves: settlement.moves, parkRequest: settlement.parkRequest)
    }

    private func deadly(_ settlement: Settlement, where isDead: (Answer) -> Bool) -> Settlement {
        let dead = zip(settlement.batch.devices, settlement.answers).filter { isDead($0.1) }.map(\.0)
        return Settlement(
            batch: settlement.batch, answers: settlement.answers, retryAt: settlement.retryAt,
            retryTimes: settlement.retryTimes,
            deadTokens: dead.map { Settlement.DeadToken(device: $0, since: .distantFuture) },
            parkRequest: settlement.parkRequest)
    }
}
