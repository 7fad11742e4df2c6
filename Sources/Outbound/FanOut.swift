extension Outbound {
    /// Does something to each of many items, `width` at a time, and returns the results in their order.
    ///
    /// - Parameters:
    ///   - within: then what is under way is cancelled, and what was not begun stays `untried`.
    public static func fanOut<Item: Sendable, Result: Sendable>(
        _ items: [Item], width: Int, within deadline: Duration, untried: Result,
        _ work: @escaping @Sendable (Item) async -> Result
    ) async -> [Result] {
        var results = Array(repeating: untried, count: items.count)
        await withTaskGroup(of: (Int, Result)?.self) { group in
            var next = 0
            func begin() {
                guard next < items.count else { return }
                let index = next
                next += 1
                group.addTask { (index, await work(items[index])) }
            }
            group.addTask {
                try? await Task.sleep(for: deadline)
                return nil
            }
            for _ in 0..<width { begin() }
            var done = 0
            while done < items.count, let finished = await group.next() {
                guard let (index, result) = finished else {
                    // The deadline, or our own cancellation.
                    group.cancelAll()
                    break
                }
                results[index] = result
                done += 1
                if !Task.isCancelled { begin() }
            }
            group.cancelAll()
            while let finished = await group.next() {
                if let (index, result) = finished { results[index] = result }
            }
        }
        return results
    }
}
