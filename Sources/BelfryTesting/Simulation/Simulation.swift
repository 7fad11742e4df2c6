package import BelfryCore
package import Logging
import Synchronization

/// Runs a world to its end on one thread, and says what did not hold.
///
/// The process under test is started with what a real one gets, killed and started again as the world has it. When the
/// callers have done all their deeds the faults stop, and everything has to come to rest.
package final class Simulation: Sendable {
    /// What a process is started with.
    package struct Process: Sendable {
        package let store: any Store
        package let providers: any ProviderDirectory
        package let clock: any WallClock
        package let policy: RetryPolicy
        package let limits: World.Limits
        package let random: @Sendable () -> Double
        package let logger: Logger
    }

    package typealias Start = @Sendable (Process) async throws -> Void

    private struct Running {
        let life: Life
        let store: MortalStore
        let task: Task<Void, any Error>
    }

    private struct State {
        var random: SplitMix64
        var tasksRunning = 0
        var platforms: [Platform] = []
        var isFinished = false
        var troubles: [String] = []
        var deathsLeft: Int
    }

    package let world: World
    package let memory: MemoryStore
    package let ledger = Ledger()
    package let executor: SeededExecutor
    let clock = HandClock()
    let chronicle = Chronicle()
    let logBook = LogBook()
    private let store: any Store
    private let weather: Weather
    private let start: Start
    private let state: Mutex<State>

    /// - Parameters:
    ///   - wrap: puts something between the store and all who use it, such as a planted fault.
    ///   - start: runs the process until it is cancelled.
    package init(_ world: World, wrap: (MemoryStore) -> any Store = { $0 }, start: @escaping Start) {
        self.world = world
        self.start = start
        executor = SeededExecutor(seed: world.seed)
        memory = MemoryStore(clock: clock)
        store = wrap(memory)
        weather = Weather(world)
        state = Mutex(State(random: SplitMix64(seeds: world.seed, 4), deathsLeft: world.faults.deathsMax))
    }

    /// What did not hold, each in a sentence; empty if all is well.
    package func run() -> [String] {
        let hang = settleIn() ?? live()
        let violations = hang.map { chronicle.state.movedRests + [$0] } ?? Verdict(of: self).violations
        return violations + state.withLock { $0.troubles }
    }

    /// Before the first process starts.
    private func settleIn() -> String? {
        launch("the callers") { [self] in
            let platforms = try await callers.settleIn()
            state.withLock { $0.platforms = platforms }
        }
        while executor.runOne() || clock.advanceToNextSleeper() {
            if isOverBudget { return hang("took too many jobs to settle in") }
        }
        return nil
    }

    /// Runs jobs, processes and time until the callers are content; then why it hangs, if it does.
    private func live() -> String? {
        launch("the callers") { [self] in
            try await callers.run(state.withLock { $0.platforms })
            state.withLock { $0.isFinished = true }
        }
        var process = begin()
        while !state.withLock({ $0.isFinished }) {
            if isOverBudget { return hang("took too many jobs") }
            if executor.runOne() {
                if weather.processDies(), mayDie() { process = replace(process) }
            } else if !clock.advanceToNextSleeper() {
                return hang("waits for nothing")
            }
        }
        process.task.cancel()
        while executor.runOne() {
            if isOverBudget { return hang("did not end when told to") }
        }
        return state.withLock { $0.tasksRunning } == 0 ? nil : hang("did not end when told to, and waits for nothing")
    }

    private var isOverBudget: Bool { executor.jobsRun > world.limits.jobsMax }

    private var callers: Callers {
        Callers(world: world, memory: memory, store: store, clock: clock, weather: weather, chronicle: chronicle)
    }

    private func hang(_ words: String) -> String {
        let open = memory.contents.pushes.values.filter { $0.settledAt == nil }.map(\.push.key).sorted()
        let waiting = memory.contents.schedules.values.filter { $0.ending == nil }.map(\.key).sorted()
        return
            "hang: the house \(words): \(executor.jobsRun) jobs, \(clock.sleepers) asleep, pushes \(open) unsettled, "
            + "schedules \(waiting) waiting"
    }

    private func mayDie() -> Bool {
        state.withLock { state in
            state.deathsLeft -= 1
            return state.deathsLeft >= 0
        }
    }

    /// Kills the process, or cancels it, and starts another.
    private func replace(_ process: Running) -> Running {
        chronicle.note { $0.die(carrying: process.store.carried) }
        if state.withLock({ $0.random.chance(0.8) }) { process.life.end() }
        process.task.cancel()
        return begin()
    }

    private func begin() -> Running {
        let life = Life()
        let mortal = MortalStore(
            store, life: life, executor: executor, clock: clock,
            trouble: MortalStore.Trouble(
                fails: { [weather] in weather.storeFails() }, stall: { [weather] in weather.stall() },
                isDeaf: world.faults.isDeaf),
            onDoubt: { [chronicle] page in chronicle.note { $0.doubt(page) } },
            onClaim: { [chronicle, clock] page in chronicle.note { $0.claim(page, at: clock.now) } },
            onSettle: { [chronicle] settlement in chronicle.note { $0.settle(settlement) } },
            onRelease: { [chronicle, memory] schedule, push, new in
                chronicle.note { state in
                    state.accept(push, on: new.platformKeys, contents: memory.contents)
                    state.release(schedule)
                }
            })
        let process = Process(
            store: mortal, providers: providers(life), clock: clock, policy: world.policy, limits: world.limits,
            random: { [weather] in weather.fraction() }, logger: logBook.logger)
        return Running(life: life, store: mortal, task: launch("the process") { [start] in try await start(process) })
    }

    private func providers(_ life: Life) -> FakeProviders {
        FakeProviders { [weather] platform in
            weather.isUseless(platform.key) ? "the key cannot be read" : nil
        } make: { [weather, ledger, clock, world] platform in
            FakeProvider(
                ledger: ledger, clock: clock, pace: world.limits.pace, life: life, room: { weather.room() }
            ) { push, device, attempt, now in
                weather.answer(on: platform.key, push: push, device: device, attempt: attempt, now: now)
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
