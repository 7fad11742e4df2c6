import Synchronization

/// Callers who have nothing to do with an attack, and ask again and again while it lasts.
struct Neighbours: Sendable {
    /// Statuses of their answers; 0 stands for none.
    private(set) var statuses: [Int: Int] = [:]
    /// How long each answer took.
    private(set) var waits: [Duration] = []

    var served: Int { statuses.filter { 200..<300 ~= $0.key }.values.reduce(0, +) }
    var refused: [Int: Int] { statuses.filter { !(200..<300 ~= $0.key) } }
    /// The time within which 99 of 100 answers came.
    var p99: Duration {
        let ordered = waits.sorted()
        return ordered.isEmpty ? .zero : ordered[(ordered.count * 99 - 1) / 100]
    }

    /// Runs `attack` beside them. Each of them is served at least so many times more when it is over.
    ///
    /// - Parameter request: by the number of the caller and that of the request.
    static func beside<Value: Sendable>(
        _ server: TestServer, count: Int = 2, least: Int = 1, asking request: @escaping @Sendable (Int, Int) -> String,
        attack: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, neighbours: Neighbours) {
        let isOver = Flag()
        return try await withThrowingTaskGroup(of: [(Int, Duration)].self) { group in
            for caller in 0..<count {
                group.addTask { ask(server, caller, request, least, until: isOver) }
            }
            let result: Result<Value, any Error>
            do { result = .success(try await attack()) } catch { result = .failure(error) }
            isOver.raise()
            var neighbours = Neighbours()
            for try await answers in group {
                for (status, wait) in answers {
                    neighbours.statuses[status, default: 0] += 1
                    neighbours.waits.append(wait)
                }
            }
            return (try result.get(), neighbours)
        }
    }

    private static func ask(
        _ server: TestServer, _ caller: Int, _ request: (Int, Int) -> String, _ least: Int, until isOver: Flag
    ) -> [(Int, Duration)] {
        var answers: [(Int, Duration)] = []
        var connection: RawConnection?
        var left = least
        let clock = ContinuousClock()
        while left > 0 {
            if isOver.isRaised { left -= 1 }
            let start = clock.now
            if connection == nil { connection = try? server.connect() }
            try? connection?.send(request(caller, answers.count))
            let status = connection?.answer()?.status ?? 0
            answers.append((status, clock.now - start))
            if status == 0 { connection = nil }
        }
        return answers
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
