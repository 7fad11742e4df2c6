import Testing

@testable import BelfryService

/// When a transaction takes another write, waits for one, and ends.
@Suite struct WriterQueueTests {
    @Test func `a lone write is committed at once, again and again`() {
        let queue = TestQueue()
        for _ in 0..<3 {
            _ = queue.append(.nothing)
            #expect(queue.transaction() == ["run", "commit"])
        }
    }

    @Test func `a transaction after a large one waits for three quarters`() {
        let queue = TestQueue()
        queue.append(20)
        #expect(queue.transaction() == Array(repeating: "run", count: 20) + ["commit"])

        queue.append(14)
        for count in 0..<14 { #expect(queue.next(after: count) == "run") }
        #expect(queue.next(after: 14) == "gather")
        #expect(queue.append(.nothing), "the fifteenth wakes the writer")
        #expect(queue.next(after: 14) == "run")
        #expect(queue.next(after: 15) == "commit")
    }

    @Test func `the writer wakes once, when all awaited have come`() {
        let queue = TestQueue()
        queue.append(8)
        _ = queue.transaction()
        #expect(queue.append(.nothing) == false)
        #expect(queue.next(after: 0) == "run")
        #expect(queue.next(after: 1) == "gather")
        let wakes = (0..<5).map { _ in queue.append(.nothing) }
        #expect(wakes == [false, false, false, false, true])
    }

    @Test func `a vain wait commits, and the next waits for less`() {
        let queue = TestQueue()
        queue.append(20)
        _ = queue.transaction()
        queue.append(4)
        for count in 0..<4 { #expect(queue.next(after: count) == "run") }
        #expect(queue.next(after: 4) == "gather")
        #expect(queue.next(after: 4, age: WriterQueue.gatheringMax) == "commit")

        queue.append(2)
        for count in 0..<2 { #expect(queue.next(after: count) == "run") }
        #expect(queue.next(after: 2) == "gather", "three are expected after four")
        #expect(queue.next(after: 2, age: WriterQueue.gatheringMax) == "commit")
        _ = queue.append(.nothing)
        #expect(queue.transaction() == ["run", "commit"], "two make nobody wait")
    }

    @Test func `a flush is waited for whatever is expected`() {
        let queue = TestQueue()
        queue.append(20)
        _ = queue.transaction()
        queue.beginFlush()
        _ = queue.append(.nothing)
        #expect(queue.next(after: 0) == "run")
        #expect(queue.next(after: 1) == "wait")
        #expect(queue.endFlush(), "the end of the flush wakes the writer")
        #expect(queue.next(after: 1) == "gather")
    }

    @Test func `a store that closes waits for nobody`() {
        let queue = TestQueue()
        queue.append(20)
        _ = queue.transaction()
        _ = queue.append(.nothing)
        queue.isClosed = true
        #expect(queue.transaction() == ["run", "commit"])
    }

    @Test func `a transaction commits after enough work while the disk rests`() {
        let queue = TestQueue()
        queue.append(2)
        #expect(queue.next(after: 0) == "run")
        #expect(queue.next(after: 1, worked: WriterQueue.waitMax) == "commit")
        #expect(queue.count == 1, "the next one takes it")
    }

    @Test func `a transaction gathers while the disk works, within bounds`() {
        let queue = TestQueue()
        queue.beginFlush()
        queue.append(1)
        #expect(queue.next(after: 1, worked: .seconds(1)) == "run")
        #expect(queue.next(after: 2) == "wait")
        let wakes = (0..<9).map { _ in queue.append(.nothing) }
        #expect(wakes == [false, false, false, false, false, false, false, true, false])
        queue.takeAll()
        #expect(queue.next(after: 11) == "wait")
        #expect(queue.endFlush())
        #expect(queue.next(after: 11) == "commit")
    }

    @Test func `a full transaction takes no more`() {
        let queue = TestQueue()
        queue.beginFlush()
        queue.append(1)
        #expect(queue.next(after: WriterQueue.countMax) == "wait")
        #expect(queue.append(.nothing) == false)
    }
}

extension Writer.Job {
    fileprivate static let nothing = Writer.Job(run: { _ in {} }, fail: { _ in })
}

/// A queue whose steps are words.
private final class TestQueue {
    private var queue = WriterQueue()

    var count: Int { queue.count }
    var isClosed: Bool {
        get { queue.isClosed }
        set { queue.isClosed = newValue }
    }

    func append(_ job: Writer.Job) -> Bool { queue.append(job) }
    func append(_ count: Int) { for _ in 0..<count { _ = queue.append(.nothing) } }
    func beginFlush() { queue.beginFlush() }
    func endFlush() -> Bool { queue.endFlush() }
    func takeAll() { _ = queue.takeAll() }

    func next(after count: Int, worked: Duration = .zero, age: Duration = .zero) -> String {
        switch queue.step(after: count, worked: worked, age: age) {
        case .run: "run"
        case .commit: "commit"
        case .wait: "wait"
        case .gather: "gather"
        }
    }

    /// The steps of one transaction that nothing is added to.
    func transaction() -> [String] {
        var steps: [String] = []
        repeat { steps.append(next(after: steps.count)) } while steps.last == "run"
        return steps
    }
}
