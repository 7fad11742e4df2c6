import Synchronization

/// Callers who have nothing to do with an attack, and ask again and again while it lasts.
struct Neighbours: Sendable {
    /// Statuses of their answers; 0 stands for none.
    private(set) var statuses: [Int: Int] = [:]

    var served: Int { statuses.filter { 200..<300 ~= $0.key }.values.reduce(0, +) }
    var refused: [Int: Int] { statuses.filter { !(200..<300 ~= $0.key) } }

    /// Runs `attack` beside them. Each of them is served at least once more when it is over.
    ///
    /// - Parameter request: by the number of the caller and that of the request.
    static func beside<Value: Sendable>(
        _ server: TestServer, count: Int = 2, asking request: @escaping @Sendable (Int, Int) -> String,
        attack: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, neighbours: Neighbours) {
        let isOver = Flag()
        return try await withThrowingTaskGroup(of: [Int].self) { group in
            for caller in 0..<count {
                group.addTask { ask(server, caller, request, until: isOver) }
            }
            let result: Result<Value, any Error>
            do { result = .success(try await attack()) } catch { result = .failure(error) }
            isOver.raise()
            var neighbours = Neighbours()
            for try await statuses in group {
                for status in statuses { neighbours.statuses[status, default: 0] += 1 }
            }
            return (try result.get(), neighbours)
        }
    }

    private static func ask(
        _ server: TestServer, _ caller: Int, _ request: (Int, Int) -> String, until isOver: Flag
    ) -> [Int] {
        var statuses: [Int] = []
        var connection: RawConnection?
        var isLast = false
        while !isLast {
            isLast = isOver.isRaised
            if connection == nil { connection = try? server.connect() }
            try? connection?.send(request(caller, statuses.count))
            statuses.append(connection?.answer()?.status ?? 0)
            if statuses.last == 0 { connection = nil }
        }
        return statuses
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }
}
