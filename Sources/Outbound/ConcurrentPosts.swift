extension Outbound {
    /// Splits items into parts of `count`, in their order.
    public static func parts<Item>(of items: [Item], count: Int) -> [ArraySlice<Item>] {
        stride(from: 0, to: items.count, by: count).map { items[$0..<min($0 + count, items.count)] }
    }

    /// Processes many items, `width` at a time, and returns the results in their order.
    ///
    /// - Parameters:
    ///   - deadline: afterwards running work is cancelled, and what was not begun stays `untried`.
    ///   - lane: items of one lane leave half of the width to those of others.
    public static func fanOut<Item: Sendable, Result: Sendable>(
        _ items: [Item], width: Int, within deadline: Duration, untried: Result, lane: (Item) -> String = { _ in "" },
        _ work: @escaping @Sendable (Item) async -> Result
    ) async -> [Result] {
        var results = Array(repeating: untried, count: items.count)
        await withTaskGroup(of: (Int, Result)?.self) { group in
            var queue = RequestQueue(items.map(lane), width: width)
            func begin() {
                while let index = queue.next() { group.addTask { (index, await work(items[index])) } }
            }
            group.addTask {
                try? await Task.sleep(for: deadline)
                return nil
            }
            begin()
            var done = 0
            while done < items.count, let finished = await group.next() {
                guard let (index, result) = finished else {
                    // The deadline, or our own cancellation.
                    group.cancelAll()
                    break
                }
                results[index] = result
                queue.finish(index)
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
