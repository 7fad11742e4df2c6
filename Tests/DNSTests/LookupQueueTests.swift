import NIOCore
import Testing

@testable import DNS

@Suite struct LookupQueueTests {
    private static let start = NIODeadline.uptimeNanoseconds(0)
    private static let deadApp = NameCaller(.doors, application: 1, tenant: 1)
    private static let other = NameCaller(.doors, application: 2, tenant: 2)

    private func begun(_ steps: [LookupQueue.Step]) -> [String] {
        steps.compactMap { if case .begin(_, let host) = $0 { host } else { nil } }
    }

    private func told(_ steps: [LookupQueue.Step]) -> [Int: NameFault?] {
        var told: [Int: NameFault?] = [:]
        for step in steps {
            guard case .tell(let waiter, let answer) = step else { continue }
            if case .failure(let fault) = answer { told[waiter] = fault } else { told[waiter] = .some(nil) }
        }
        return told
    }

    private func address(_ text: String) -> [SocketAddress] {
        [try? SocketAddress(ipAddress: text, port: 0)].compactMap(\.self)
    }

    @Test func `hanging names take only their caller's share`() {
        var queue = LookupQueue(NameLimits())
        for waiter in 0..<1_000 {
            let steps = queue.ask("h\(waiter).example.com", by: Self.deadApp, waiter: waiter, at: Self.start)
            #expect(begun(steps).count == (waiter < 32 ? 1 : 0))
        }
        #expect(begun(queue.ask("quick.example.com", by: Self.other, waiter: 1_000, at: Self.start)).count == 1)
        // Applications of one tenant together have the share of the tenant.
        var started = 0
        for waiter in 2_000..<3_000 {
            let caller = NameCaller(.doors, application: Int64(waiter), tenant: 3)
            started += begun(queue.ask("t\(waiter).example.com", by: caller, waiter: waiter, at: Self.start)).count
        }
        #expect(started == 128)
        #expect(begun(queue.ask("slow.example.com", by: Self.other, waiter: 3_000, at: Self.start)).count == 1)
        // Nor does a delivery wait for a door.
        let delivery = NameCaller(.delivery, application: 1, tenant: 1)
        #expect(begun(queue.ask("push.example.com", by: delivery, waiter: 3_001, at: Self.start)).count == 1)
    }

    @Test func `waiters for a share take turns with others`() {
        var limits = NameLimits()
        (limits.application, limits.total) = (2, 2)
        var queue = LookupQueue(limits)
        var begun: [String] = []
        for waiter in 0..<6 {
            begun += self.begun(queue.ask("a\(waiter)", by: Self.deadApp, waiter: waiter, at: Self.start))
        }
        for waiter in 6..<8 {
            begun += self.begun(queue.ask("b\(waiter)", by: Self.other, waiter: waiter, at: Self.start))
        }
        for _ in 0..<6 {
            let host = begun.first { !$0.hasPrefix("-") } ?? ""
            let place = begun.firstIndex(of: host) ?? 0
            begun[place] = "-\(host)"
            begun += self.begun(
                queue.found(.failure(.unknown), of: host, in: .doors, lifetime: .zero, at: Self.start))
        }
        #expect(begun.map { String($0.suffix(2)) } == ["a0", "a1", "a2", "b6", "a3", "b7", "a4", "a5"])
    }

    @Test func `a waiter hears once, by its deadline`() {
        var queue = LookupQueue(NameLimits())
        _ = queue.ask("hangs", by: Self.deadApp, waiter: 1, at: Self.start)
        _ = queue.ask("hangs", by: Self.other, waiter: 2, at: Self.start + .seconds(1))
        #expect(queue.nextDeadline == Self.start + .seconds(5))
        #expect(told(queue.expire(at: Self.start + .seconds(5))) == [1: .unanswered])
        #expect(queue.nextDeadline == Self.start + .seconds(6))
        let found = queue.found(
            .success(address("192.0.2.1")), of: "hangs", in: .doors, lifetime: .seconds(9),
            at: Self.start + .milliseconds(5_500))
        #expect(told(found) == [2: nil])
        #expect(told(queue.expire(at: Self.start + .seconds(9))).isEmpty)
        #expect(told(queue.cancel(2)).isEmpty)
    }

    @Test func `a caller beyond the waiting limit is answered at once`() {
        var limits = NameLimits()
        (limits.application, limits.waitingOfTenant) = (1, 2)
        var queue = LookupQueue(limits)
        for waiter in 0..<3 { _ = queue.ask("h\(waiter)", by: Self.deadApp, waiter: waiter, at: Self.start) }
        #expect(told(queue.ask("h3", by: Self.deadApp, waiter: 3, at: Self.start)) == [3: .full])
        // What nobody waits for any more makes room.
        _ = queue.expire(at: Self.start + .seconds(5))
        #expect(told(queue.ask("h4", by: Self.deadApp, waiter: 4, at: Self.start + .seconds(5))).isEmpty)
    }

    @Test func `a closed queue tells all waiters and begins nothing`() {
        var limits = NameLimits()
        limits.application = 1
        var queue = LookupQueue(limits)
        for waiter in 0..<3 { _ = queue.ask("h\(waiter)", by: Self.deadApp, waiter: waiter, at: Self.start) }
        #expect(told(queue.close()) == [0: .unanswered, 1: .unanswered, 2: .unanswered])
        let late = queue.found(.failure(.unanswered), of: "h0", in: .doors, lifetime: .zero, at: Self.start)
        #expect(begun(late).isEmpty && told(late).isEmpty)
        #expect(told(queue.ask("h3", by: Self.deadApp, waiter: 3, at: Self.start)) == [3: .unanswered])
    }

    @Test(arguments: [(0, 5), (30, 30), (86_400, 60)])
    func `an answer is kept for its servers' time, within bounds`(lifetime: Int, kept: Int64) {
        var queue = LookupQueue(NameLimits())
        _ = queue.ask("a", by: Self.deadApp, waiter: 1, at: Self.start)
        _ = queue.found(
            .success(address("192.0.2.1")), of: "a", in: .doors, lifetime: .seconds(lifetime), at: Self.start)
        let before = queue.ask("a", by: Self.other, waiter: 2, at: Self.start + .seconds(kept) - .milliseconds(1))
        #expect(told(before) == [2: nil])
        #expect(begun(queue.ask("a", by: Self.other, waiter: 3, at: Self.start + .seconds(kept))) == ["a"])
    }

    @Test func `a name of the configuration is another than a stranger's`() {
        var queue = LookupQueue(NameLimits())
        _ = queue.ask("db", by: Self.deadApp, waiter: 1, at: Self.start)
        _ = queue.found(.failure(.unknown), of: "db", in: .doors, lifetime: .zero, at: Self.start)
        #expect(begun(queue.ask("db", by: NameCaller(.configured), waiter: 2, at: Self.start)) == ["db"])
        #expect(begun(queue.ask("db", by: NameCaller(.delivery), waiter: 3, at: Self.start)).isEmpty)
    }

    @Test func `answers that are kept are bounded`() {
        var limits = NameLimits()
        (limits.namesKept, limits.application) = (10, 1_000)
        var queue = LookupQueue(limits)
        for waiter in 0..<100 {
            _ = queue.ask("h\(waiter)", by: Self.deadApp, waiter: waiter, at: Self.start)
            _ = queue.found(.failure(.unknown), of: "h\(waiter)", in: .doors, lifetime: .zero, at: Self.start)
        }
        var again = 0
        for waiter in 0..<100 {
            again += begun(queue.ask("h\(waiter)", by: Self.other, waiter: 100 + waiter, at: Self.start)).count
        }
        #expect(90..<100 ~= again, "of at most 10 names the answer is known: \(again) are asked for again")
    }
}
