/// Delayed answers: a binary heap by due time, emptied by one scheduled tick for all that are due.
struct DelayLine<Element> {
    private var heap: [(due: Int64, order: UInt64, element: Element)] = []
    private var order: UInt64 = 0

    var nextDue: Int64? { heap.first?.due }
    var count: Int { heap.count }

    /// - Parameter due: in the caller's unit of time; equal times leave in the order of insertion.
    mutating func insert(_ element: Element, due: Int64) {
        order += 1
        heap.append((due, order, element))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popDue(at now: Int64) -> Element? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink(0)
        return first.element
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].order) < (heap[right].due, heap[right].order)
    }
}
