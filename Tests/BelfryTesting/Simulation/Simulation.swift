package import BelfryService
package import Logging
import Synchronization

/// Runs a world to its end on one thread, and returns the violated invariants.
///
/// The process under test gets what a real one gets, and is killed and restarted by the world's plan; in some worlds two of them share
/// the store. When the callers have done all their actions the faults stop, and all work must finish.
package final class Simulation: Sendable {
    /// The dependencies of a process at its start.
    package struct Process: Sendable {
        package let store: any DeliveryPorts
        package let providers: any ProviderDirectory
        package let clock: any WallClock
        package let policy: RetryPolicy
        package let limits: World.Limits
        package let random: @Sendable () -> Double
        package let logger: Logger
    }

    package typealias Start = @Sendable (Process) async throws -> Void

    private struct Running {
        let lifetime: ProcessLifetime
        let store: CrashingStore
        let task: Task<Void, any Error>
    }

    private struct State {
        var random: SplitMix64
        var tasksRunning = 0
        var platforms: [Platform] = []
        var isFinished = false
        var troubles: [String] = []
        var crashesLeft: Int
    }

    package let world: World
    package let memory: MemoryStore
    package let ledger = Ledger()
    package let executor: SeededExecutor
    let clock = ManualClock()
    let history = History()
    let capturedLog = CapturedLog()
    private let store: any DeliveryPorts
    private let faultSchedule: FaultSchedule
    private let start: Start
    private let state: Mutex<State>

    /// - Parameters:
    ///   - wrap: puts something between the store and its users, such as a planted fault.
    ///   - start: runs the process until it is cancelled.
    package init(_ world: World, wrap: (MemoryStore) -> any DeliveryPorts = { $0 }, start: @escaping Start) {
        self.world = world
        self.start = start
        executor = SeededExecutor(seed: world.seed)
        memory = MemoryStore(clock: clock)
        store = wrap(memory)
        faultSchedule = FaultSchedule(world)
        state = Mutex(State(random: SplitMix64(seeds: world.seed, 4), crashesLeft: world.faults.crashesMax))
    }

    /// The violated invariants, a sentence each.
    package func run() -> [String] {
        let hang = settleIn() ?? live()
        let violations =
            hang.map { history.state.movedRetryTimes + [$0] } ?? Verdict(of: self).violations + parkedInVain
        return violations + state.withLock { $0.troubles }
    }

    /// Before the first process starts.
    private func settleIn() -> String? {
        launch("the callers") { [self] in
            let platforms = try await callers.settleIn()
            // A world that takes days would ask it thousands of times.
            if world.journey == nil {
                faultSchedule.chooseOddDevice(among: memory.contents.devices.keys.sorted(), seed: world.seed)
            }
            state.withLock { $0.platforms = platforms }
        }
        while executor.runOne() || clock.advanceToNextSleeper() {
            if isOverBudget { return hang("took too many jobs to settle in") }
        }
        return nil
    }

    /// Runs jobs, processes and time until the callers are done; then returns why it hangs, if it does.
    private func live() -> String? {
        launch("the callers") { [self] in
            try await callers.run(state.withLock { $0.platforms })
            state.withLock { $0.isFinished = true }
        }
        var processes = (0..<(world.journey?.nodes ?? 1)).map { _ in begin() }
        while !state.withLock({ $0.isFinished }) {
            if isOverBudget { return hang("took too many jobs") }
            if let gap = daysToWait {
                // The server is down until some seconds after the next time of a recurring schedule.
                processes = processes.map(replace)
                clock.advance(by: gap + .seconds(30))
            } else if executor.runOne() {
                if faultSchedule.processDies(), mayDie() {
                    let place = processes.count == 1 ? 0 : state.withLock { $0.random.below(processes.count) }
                    processes[place] = replace(processes[place])
                }
            } else if !clock.advanceToNextSleeper() {
                return hang("waits for nothing")
            }
        }
        for process in processes { process.task.cancel() }
        while executor.runOne() {
            if isOverBudget { return hang("did not end when told to") }
        }
        return state.withLock { $0.tasksRunning } == 0 ? nil : hang("did not end when told to, and waits for nothing")
    }

    /// The time until the next schedule is due, where nothing else is left to do and it is long: with its polls a day would take too many jobs.
    private var daysToWait: Duration? {
        let contents = memory.contents
        guard faultSchedule.isCalm, !contents.pushes.values.contains(where: { $0.settledAt == nil }),
            let next = contents.schedules.values.filter({ $0.ending == nil }).map(\.dueAt).min()
        else { return nil }
        let wait = next - clock.now
        return wait > .seconds(3_600) ? wait : nil
    }

    /// One device's answer parks no platform.
    private var parkedInVain: [String] {
        memory.contents.refused.sorted().filter { !faultSchedule.wasTroubled($0) }.map {
            "platform \($0): was parked, though its credentials were never refused"
        }
    }

    private var isOverBudget: Bool { executor.jobsRun > world.limits.jobsMax }

    private var callers: SimulatedClients {
        SimulatedClients(
            world: world, memory: memory, store: store, clock: clock, faultSchedule: faultSchedule, history: history)
    }

    private func hang(_ words: String) -> String {
        let contents = memory.contents
        let open = contents.pushes.values.filter { $0.settledAt == nil }.map(\.push.key).sorted().map { key in
            let dues =
                contents.fanOuts.filter { $0.key.push == key }.values.map(\.lease.dueAt)
                + contents.batches.values.filter { $0.batch.pushKey == key }.map(\.lease.dueAt)
            return "\(key) due at \(dues.compactMap { $0?.text }.sorted().prefix(3))"
        }
        let waiting = memory.contents.schedules.values.filter { $0.ending == nil }.map(\.key).sorted()
        return
            "hang: the server \(words): \(executor.jobsRun) jobs until \(clock.now.text), \(clock.sleepers) asleep, pushes \(open) unsettled, "
            + "schedules \(waiting) waiting"
    }

    private func mayDie() -> Bool {
        state.withLock { state in
            state.crashesLeft -= 1
            return state.crashesLeft >= 0
        }
    }

    /// Kills the process, or cancels it, and starts another.
    private func replace(_ process: Running) -> Running {
        history.note { $0.die(sending: process.store.claimed) }
        if state.withLock({ $0.random.chance(0.8) }) { process.lifetime.end() }
        process.task.cancel()
        return begin()
    }

    private func begin() -> Running {
        let lifetime = ProcessLifetime()
        let crashing = CrashingStore(
            store, lifetime: lifetime, executor: executor, clock: clock,
            trouble: CrashingStore.Trouble(
                fails: { [faultSchedule] in faultSchedule.storeFails() },
                stall: { [faultSchedule] in faultSchedule.stall() },
                isDeaf: world.faults.isDeaf),
            onDoubt: { [history] batch in history.note { $0.doubt(batch) } },
            onClaim: { [history, clock] batch in history.note { $0.claim(batch, at: clock.now) } },
            onSettle: { [history] settlement in history.note { $0.settle(settlement) } },
            onPace: { [history] request, verdicts in history.note { $0.pace(request, verdicts) } },
            onRelease: { [history, memory] schedule, push, new in
                history.note { state in
                    state.accept(push, on: new.platformKeys, contents: memory.contents)
                    state.release(schedule, as: push)
                }
            },
            onStart: { [history, memory] schedule in
                history.note { $0.start(of: schedule.key, contents: memory.contents) }
            })
        let process = Process(
            store: crashing, providers: providers(lifetime), clock: clock, policy: world.policy, limits: world.limits,
            random: { [faultSchedule] in faultSchedule.fraction() }, logger: capturedLog.logger)
        return Running(
            lifetime: lifetime, store: crashing, task: launch("the process") { [start] in try await start(process) })
    }

    private func providers(_ lifetime: ProcessLifetime) -> FakeProviders {
        FakeProviders { [faultSchedule] platform in
            faultSchedule.isUseless(platform.key) ? "the key cannot be read" : nil
        } make: { [faultSchedule, ledger, clock, world, history] platform in
            FakeProvider(
                ledger: ledger, clock: clock, pace: world.limits.pace, lifetime: lifetime,
                room: { faultSchedule.room() },
                refuses: { faultSchedule.refusesCredentials(of: platform.key) }
            ) { push, device, attempt, now in
                history.note { $0.ask(push, device) }
                return faultSchedule.answer(on: platform.key, push: push, device: device, attempt: attempt, now: now)
            }
        }
    }

    @discardableResult
    private func launch(_ name: String, _ body: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        state.withLock { $0.tasksRunning += 1 }
        return Task(executorPreference: executor) { [self] in
            do {
                try await body()
            } catch is CancellationError {
            } catch {
                state.withLock { $0.troubles.append("\(name) ended with an error: \(error)") }
            }
            state.withLock { $0.tasksRunning -= 1 }
        }
    }
}
