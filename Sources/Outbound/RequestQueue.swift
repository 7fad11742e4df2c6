/// Decides which of many items begins next: from each lane in turn, and no more than half of the width from one while
/// others wait.
///
/// So a slow host cannot take all places, and delay the requests to others.
struct RequestQueue {
    private struct Lane {
        var waiting: [Int] = []
        var active = 0
    }

    private var lanes: [Lane] = []
    /// The lane of each item.
    private let places: [Int]
    private let width: Int
    private var turn = 0
    private var active = 0

    /// - Parameter names: the lane of each item.
    init(_ names: [some Hashable], width: Int) {
        precondition(width > 0, "a queue has a worker at least")
        var numbers: [AnyHashable: Int] = [:]
        var places: [Int] = []
        for (item, name) in names.enumerated() {
            let lane = numbers[name, default: lanes.count]
            if lane == lanes.count {
                numbers[name] = lane
                lanes.append(Lane())
            }
            lanes[lane].waiting.append(item)
            places.append(lane)
        }
        for lane in lanes.indices { lanes[lane].waiting.reverse() }
        self.places = places
        self.width = width
    }

    /// nil when nothing waits, or the width is used up.
    mutating func next() -> Int? {
        guard active < width else { return nil }
        let isAlone = lanes.count { !$0.waiting.isEmpty } == 1
        let laneMax = isAlone ? width : max(1, width / 2)
        for _ in lanes.indices {
            let lane = turn
            turn = (turn + 1) % lanes.count
            guard lanes[lane].active < laneMax, let item = lanes[lane].waiting.popLast() else { continue }
            lanes[lane].active += 1
            active += 1
            return item
        }
        return nil
    }

    mutating func finish(_ item: Int) {
        lanes[places[item]].active -= 1
        active -= 1
    }
}
