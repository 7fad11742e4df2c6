/// Requests over the connections of a load until it is stopped.
actor SteadyLoad: SteadyWork {
    private let load: HTTPLoad
    private let chunkSize: Int
    private var isOver = false
    private var next: Int

    /// - Parameter first: the number of the first request.
    init(_ load: HTTPLoad, from first: Int, chunkSize: Int = 4_000) {
        self.load = load
        self.chunkSize = chunkSize
        next = first
    }

    func stop() { isOver = true }

    /// Returns the requests answered a second.
    func run() async throws -> Double {
        let (first, begun) = (next, ContinuousClock.now)
        while !isOver {
            let numbers = next..<next + chunkSize
            next = numbers.upperBound
            _ = try await load.run(numbers)
        }
        return Double(next - first) / ((ContinuousClock.now - begun) / .seconds(1))
    }
}
