import BelfryService
import FoundationEssentials

/// Apps, back ends and the operator: the external callers, by the world's plan.
struct SimulatedClients: Sendable {
    let world: World
    let memory: MemoryStore
    let store: any DeliveryPorts
    let clock: ManualClock
    let faultSchedule: FaultSchedule
    let history: History

    /// Creates the applications, and registers the first devices, over some days.
    func settleIn() async throws -> [Platform] {
        var random = SplitMix64(seeds: world.seed, 3)
        let platforms = try await found()
        if world.journey != nil { memory.tamper { $0.userTimeZones = World.Journey.userZones } }
        for _ in 0..<world.devices {
            let platform = random.pick(platforms)
            try await install(on: platform, &random)
            if random.chance(0.05) { try await clock.sleep(for: random.duration(0...3_600)) }
        }
        return platforms
    }

    /// Performs all actions, lets the faults stop, and returns once each push is settled.
    func run(_ platforms: [Platform]) async throws {
        var random = SplitMix64(seeds: world.seed, 5)
        for event in world.events {
            try await clock.sleep(for: event.wait)
            try await act(event.action, platforms, &random)
        }
        try await goRound(platforms, &random)
        try await clock.sleep(for: random.duration(0...60))
        faultSchedule.calm()
        try await watch(platforms)
    }

    /// The operator resumes what is parked, until all is done, but for refused credentials: those are tried again by themselves.
    private func watch(_ platforms: [Platform]) async throws {
        while memory.contents.isBusy {
            for platform in platforms
            where memory.contents.platforms[platform.key]?.parked.map({ $0.cause != .credentials }) ?? false {
                try await store.resume(platform.key)
            }
            try await clock.sleep(for: .seconds(5))
        }
    }

    private func found() async throws -> [Platform] {
        var platforms: [Platform] = []
        var applications: [Application] = []
        for (index, planned) in world.platforms.enumerated() {
            if planned.application == applications.count {
                applications.append(try await store.create(.numbered(planned.application)))
            }
            let application = applications[planned.application]
            platforms.append(try await store.create(.numbered(index, of: application.key, kind: planned.kind)))
        }
        return platforms
    }

    private func act(_ action: World.Action, _ platforms: [Platform], _ random: inout SplitMix64) async throws {
        switch action {
        case .push(let planned): try await push(planned, platforms, &random)
        case .smallPush(let planned): try await push(planned, platforms, &random)
        case .schedule(let planned): try await schedule(planned, platforms)
        case .localSchedule(let planned): try await schedule(planned, platforms)
        case .reschedule(let dueIn): try await reschedule(dueIn, &random)
        case .cancel: try await cancel(&random)
        case .cancelPush(let number): try await cancelPush(number)
        case .install: try await install(on: random.pick(platforms), &random)
        case .register(let isNamed, let choice): try await register(isNamed: isNamed, choice, platforms, &random)
        case .unregister: try await unregister(&random)
        case .trouble(let index, let isUseless): faultSchedule.trouble(platforms[index].key, isUseless: isUseless)
        case .mend(let index, let isReplaced): try await mend(platforms[index].key, isReplaced: isReplaced)
        }
    }

    private func push(_ planned: World.PlannedPush, _ platforms: [Platform], _ random: inout SplitMix64) async throws {
        let owner = Set(platforms.map(\.applicationKey)).sorted()[planned.application]
        let targets = platforms.filter { $0.applicationKey == owner }.map(\.key)
        var content = Push.Content(body: "hello")
        content.pacing = world.pacing ?? Pacing()
        let push = try await store.accept(
            NewPush(
                receiptID: UUID(words: random.next(), random.next()), applicationKey: owner,
                content: content, audience: planned.audience, platformKeys: targets,
                lane: planned.lane, guarantee: planned.guarantee,
                expiresAt: planned.expiresIn.map { clock.now + $0 }))
        history.note { $0.accept(push, on: targets, contents: memory.contents) }
    }

    private func push(_ planned: World.SmallPush, _ platforms: [Platform], _ random: inout SplitMix64) async throws {
        let owner = Set(platforms.map(\.applicationKey)).sorted()[planned.application]
        let targets = platforms.filter { $0.applicationKey == owner }.map(\.key)
        let all = memory.contents.devices.values.filter { targets.contains($0.platformKey) }.map(\.key).sorted()
        guard !all.isEmpty else { return }
        let named = Set((0..<planned.devices).map { _ in random.pick(all) }).sorted()
        let placed = Dictionary(grouping: named) { memory.contents.devices[$0]?.platformKey ?? targets[0] }
        let push = try await store.accept(
            NewPush(
                receiptID: UUID(words: random.next(), random.next()), applicationKey: owner,
                content: Push.Content(body: "hello"), audience: .all([.list(.devices(named)), .list(.registered)]),
                platformKeys: targets, lane: .urgent, guarantee: planned.guarantee,
                expiresAt: planned.expiresIn.map { clock.now + $0 }, devices: placed))
        history.note { $0.accept(push, on: targets, contents: memory.contents) }
    }

    private func schedule(_ planned: World.PlannedSchedule, _ platforms: [Platform]) async throws {
        let owner = Set(platforms.map(\.applicationKey)).sorted()[planned.application]
        let pushRequest = PushRequest(
            content: Push.Content(body: "hello"), target: planned.target, guarantee: planned.guarantee,
            expiresAt: planned.expiresIn.map { clock.now + $0 })
        let recurrence = try planned.recurrence(from: clock.now)
        let schedule = try await store.schedule(
            pushRequest, at: try recurrence?.firstTime(after: clock.now) ?? clock.now + planned.dueIn,
            recurring: recurrence, for: owner)
        history.note { $0.schedule(schedule) }
    }

    private func reschedule(_ dueIn: Duration, _ random: inout SplitMix64) async throws {
        guard let schedule = memory.contents.someSchedule(&random) else { return }
        guard schedule.recurrence == nil else { return try await skipNext(of: schedule) }
        guard schedule.local == nil else { return }
        _ = try await store.change(
            schedule.key, of: schedule.applicationKey, Schedule.Change(dueAt: clock.now + dueIn))
    }

    private func skipNext(of schedule: Schedule) async throws {
        do {
            let change = Schedule.Change(verb: .skipNext)
            let changed = try await store.change(schedule.key, of: schedule.applicationKey, change)
            if changed != nil { history.note { $0.skip(schedule) } }
        } catch is InvalidInput {
            // Its last time is not skipped.
        }
    }

    func cancel(_ random: inout SplitMix64) async throws {
        guard let schedule = memory.contents.someSchedule(&random) else { return }
        let isCancelled = try await store.cancel(schedule.key, of: schedule.applicationKey)
        if isCancelled { history.note { $0.cancel(schedule) } }
    }

    /// Twice, as somebody does who does not wait for the answer.
    private func cancelPush(_ number: Int) async throws {
        let open = memory.contents.pushes.values.filter { $0.settledAt == nil }.map(\.push.key).sorted()
        guard !open.isEmpty else { return }
        let push = open[number % open.count]
        _ = try await store.cancel(push)
        history.note { $0.cancel(push) }
        _ = try await store.cancel(push)
    }

    private func install(on platform: Platform, _ random: inout SplitMix64) async throws {
        let registration = try Registration(
            token: DeviceToken(bytes: random.token()),
            about: Device.About(osVersion: random.pick(["7.1", "9.0", "4.1", nil])),
            customUserID: random.chance(0.3) ? .set(random.pick(World.users)) : .keep,
            topics: .replace(Set(World.topics.filter { _ in random.chance(0.4) })), detail: place(&random))
        let device = try await store.register(registration, as: nil, on: platform)
        history.note { $0.register(device.key, evicted: nil) }
    }

    /// The zone where a device is, in worlds that go by such; some devices tell none.
    private func place(_ random: inout SplitMix64) -> DeviceDetail.Change {
        guard world.journey != nil, random.chance(0.8) else { return DeviceDetail.Change() }
        return DeviceDetail.Change(timeZone: random.pick(World.Journey.zones))
    }

    func register(
        isNamed: Bool, _ choice: World.TokenChoice, _ platforms: [Platform], _ random: inout SplitMix64
    ) async throws {
        let contents = memory.contents
        guard let device = contents.someDevice(&random), let other = contents.someDevice(&random) else { return }
        let token =
            switch choice {
            case .same: device.token
            case .fresh: DeviceToken(bytes: random.token())
            case .another: other.platformKey == device.platformKey ? other.token : device.token
            }
        guard let token, let platform = platforms.first(where: { $0.key == device.platformKey }) else { return }
        let registration = try Registration(
            token: token, about: Device.About(), customUserID: .keep,
            topics: .change(subscribe: [random.pick(World.topics)], unsubscribe: [random.pick(World.topics)]),
            detail: place(&random))
        let holder = contents.holders[Contents.Address(platform: platform.key, token: token)]
        let registered = try await store.register(registration, as: isNamed ? device.uuid : nil, on: platform)
        history.note { $0.register(registered.key, evicted: holder) }
    }

    private func unregister(_ random: inout SplitMix64) async throws {
        guard let device = memory.contents.someDevice(&random) else { return }
        try await store.unregister(device.uuid, on: device.platformKey)
        history.note { $0.unregister(device.key) }
    }

    func mend(_ platform: Key<Platform>, isReplaced: Bool) async throws {
        faultSchedule.mend(platform)
        if isReplaced {
            try await store.replaceCredentials(of: platform, with: Sealed(bytes: [2]))
        } else {
            try await store.resume(platform)
        }
    }
}

extension Contents {
    /// Whether a push waits for an answer, or a schedule for its time.
    fileprivate var isBusy: Bool {
        pushes.values.contains { $0.settledAt == nil } || schedules.values.contains { $0.ending == nil }
    }

    /// Usually a waiting schedule; ended ones must withstand changes too.
    fileprivate func someSchedule(_ random: inout SplitMix64) -> Schedule? {
        let waiting = schedules.values.filter { $0.ending == nil }.map(\.key).sorted()
        let keys = waiting.isEmpty || random.chance(0.2) ? schedules.keys.sorted() : waiting
        return keys.isEmpty ? nil : schedules[random.pick(keys)]
    }

    fileprivate func someDevice(_ random: inout SplitMix64) -> Device? {
        let keys = devices.keys.sorted()
        return keys.isEmpty ? nil : devices[random.pick(keys)]
    }
}

extension SplitMix64 {
    fileprivate mutating func token() -> [UInt8] {
        (0..<4).flatMap { _ in withUnsafeBytes(of: next().bigEndian, Array.init) }
    }
}
