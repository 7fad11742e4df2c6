import BelfryService
import FoundationEssentials

extension SimulatedClients {
    func schedule(_ planned: World.LocalSchedule, _ platforms: [Platform]) async throws {
        let owner = Set(platforms.map(\.applicationKey)).sorted()[planned.application]
        var content = Push.Content(body: "good morning")
        content.pacing = world.pacing ?? Pacing()
        content.pacing.perMinute = world.journey?.perMinute
        var pushRequest = PushRequest(content: content, target: planned.target, guarantee: planned.guarantee)
        let now = clock.now
        if let recurrence = try planned.recurrence(from: now) {
            let schedule = try await store.schedule(
                pushRequest, at: try recurrence.firstTime(after: now, isNew: true), recurring: recurrence, for: owner)
            return history.note { $0.schedule(schedule) }
        }
        let local = LocalDelivery(
            time: try planned.time(from: now), past: planned.past, zone: try World.LocalSchedule.zone(), madeAt: now)
        pushRequest.target.local = local
        guard let first = local.next(after: now + .milliseconds(-1)) else { return }
        let schedule = try await store.schedule(pushRequest, at: first, for: owner)
        history.note { state in
            state.schedule(schedule)
            state.begin(schedule, contents: memory.contents)
        }
    }

    /// Follows the schedules by the clocks of each recipient round the world. Devices travel meanwhile, some schedules are cancelled, and the time
    /// until the next step is skipped once all is sent.
    func goRound(_ platforms: [Platform], _ random: inout SplitMix64) async throws {
        guard world.journey != nil else { return }
        while let due = memory.contents.nextStep {
            if random.chance(0.2) { try await register(isNamed: true, .same, platforms, &random) }
            if random.chance(0.01) { try await cancel(&random) }
            try await settle(platforms)
            let wait = due - clock.now
            if wait > Self.skippedMin {
                // Now and then no program runs at the time of a step, or of some.
                let late = random.chance(0.1) ? random.duration(0...4_000) : .zero
                clock.advance(by: wait + late - random.duration(0...30))
            } else {
                try await clock.sleep(for: .seconds(5))
            }
        }
    }

    private static let skippedMin = Duration.seconds(60)

    /// Waits until each push is settled: a program that slept through its leases would send again.
    private func settle(_ platforms: [Platform]) async throws {
        while memory.contents.pushes.values.contains(where: { $0.settledAt == nil }) {
            for platform in platforms where memory.contents.platforms[platform.key]?.parked != nil {
                try await mend(platform.key, isReplaced: false)
            }
            try await clock.sleep(for: .seconds(5))
        }
    }
}

extension Contents {
    /// When the next schedule by the clocks of each recipient is due; nil where none waits.
    fileprivate var nextStep: Instant? {
        schedules.values.filter { $0.ending == nil && ($0.local != nil || $0.recurrence?.isLocal == true) }.map(\.dueAt)
            .min()
    }
}
