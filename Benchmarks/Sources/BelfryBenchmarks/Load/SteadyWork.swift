/// Work that goes on beside a measurement until it is stopped.
protocol SteadyWork: Actor {
    associatedtype Product: Sendable

    func run() async throws -> Product
    func stop()
}

extension SteadyWork {
    /// Measures while the work goes on. Returns what both returned.
    nonisolated func during<Value>(_ body: () async throws -> Value) async throws -> (Product, Value) {
        let running = Task { try await run() }
        do {
            let value = try await body()
            await stop()
            return (try await running.value, value)
        } catch {
            await stop()
            _ = await running.result
            throw error
        }
    }
}
