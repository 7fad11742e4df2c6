package import BelfryCore
import FoundationEssentials

/// A store with a planted fault, to prove that somebody notices.
package struct Sabotage: WrappedStore {
    package let base: any Store
    private let memory: MemoryStore
    private let planted: Fault

    package enum Fault: String, Sendable, CaseIterable {
        case settlesWithoutFence, forgetsSettlements, leasesNothing, forgetsLapses, losesDevices, writesPagesTwice
        case believesEveryDeath, killsTheBarred, skipsTheReachable, refusesToAdvance
        case sendsSchedulesTwice, cancelsInVain, forgetsSchedules, forgetsRests, prolongsRests
    }

    package init(_ base: MemoryStore, _ planted: Fault) {
        self.base = base
        self.planted = planted
        memory = base
    }

    package func claimPages(_ claim: PageClaim) async throws -> [Page] {
        switch planted {
        case .leasesNothing:
            let claim = PageClaim(
                pagesMax: claim.pagesMax, lanes: claim.lanes, room: claim.room, roomElsewhere: claim.roomElsewhere,
                lease: .milliseconds(100))
            return try await base.claimPages(claim)
        case .forgetsLapses:
            return try await base.claimPages(claim).map {
                $0.with(answers: $0.answers, attempt: $0.attempt, isLapsed: false, rests: $0.rests)
            }
        case .forgetsRests:
            return try await base.claimPages(claim).map {
                $0.with(answers: $0.answers, attempt: $0.attempt, isLapsed: $0.isLapsed)
            }
        case .prolongsRests:
            return try await base.claimPages(claim).map {
                $0.with(
                    answers: $0.answers, attempt: $0.attempt, isLapsed: $0.isLapsed,
                    rests: $0.isLapsed ? $0.rests.mapValues { $0 + .seconds(60) } : $0.rests)
            }
        default:
            return try await base.claimPages(claim)
        }
    }

    package func load(_ page: Page) async throws -> PageLoad? {
        guard let load = try await base.load(page), planted == .skipsTheReachable else {
            return try await base.load(page)
        }
        return PageLoad(push: load.push, platform: load.platform, recipients: Array(load.recipients.dropLast()))
    }

    package func advance(_ step: WalkStep) async throws -> Bool {
        switch planted {
        case .losesDevices:
            let pages = step.pages.map { Array($0.dropFirst()) }
            return try await base.advance(WalkStep(walk: step.walk, pages: pages, isLast: step.isLast))
        case .writesPagesTwice:
            return try await base.advance(
                WalkStep(walk: step.walk, pages: step.pages + step.pages, isLast: step.isLast))
        case .refusesToAdvance:
            return false
        default:
            return try await base.advance(step)
        }
    }

    package func settle(_ settlement: Settlement) async throws -> Bool {
        switch planted {
        case .settlesWithoutFence: try await base.settle(forged(settlement))
        case .forgetsSettlements: true
        case .believesEveryDeath: try await base.settle(deadly(settlement) { $0 == .gone })
        case .killsTheBarred:
            try await base.settle(settlement.halt == nil ? settlement : deadly(settlement) { $0 == .pending })
        default: try await base.settle(settlement)
        }
    }

    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        if planted == .sendsSchedulesTwice { _ = try await base.accept(twin(of: push)) }
        return try await base.release(schedule, as: push)
    }

    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        guard planted == .cancelsInVain else { return try await base.cancel(key, of: application) }
        return try await base.schedule(key, of: application)?.ending == nil
    }

    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        planted == .forgetsSchedules ? [] : try await base.dueSchedules(atMost: limit)
    }

    /// The same push under another receipt: one of the same would be taken for a repeated request.
    private func twin(of push: NewPush) -> NewPush {
        NewPush(
            receiptID: UUID(), applicationKey: push.applicationKey, content: push.content, audience: push.audience,
            platformKeys: push.platformKeys, lane: push.lane, guarantee: push.guarantee, expiresAt: push.expiresAt)
    }

    /// The settlement, as if its page had been claimed by its courier last.
    private func forged(_ settlement: Settlement) -> Settlement {
        memory.tamper { $0.pages[settlement.page.key]?.lease.isHeld = true }
        guard let page = memory.contents.pages[settlement.page.key]?.page else { return settlement }
        return Settlement(
            page: page, answers: settlement.answers, retryAt: settlement.retryAt, rests: settlement.rests,
            deaths: settlement.deaths, moves: settlement.moves, halt: settlement.halt)
    }

    private func deadly(_ settlement: Settlement, where isDead: (Answer) -> Bool) -> Settlement {
        let dead = zip(settlement.page.devices, settlement.answers).filter { isDead($0.1) }.map(\.0)
        return Settlement(
            page: settlement.page, answers: settlement.answers, retryAt: settlement.retryAt, rests: settlement.rests,
            deaths: dead.map { Settlement.Death(device: $0, since: .distantFuture) }, halt: settlement.halt)
    }
}
