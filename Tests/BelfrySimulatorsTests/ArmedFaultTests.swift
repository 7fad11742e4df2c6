import Testing

@testable import BelfrySimulators

@Suite struct ArmedFaultTests {
    private func armed(_ when: ServiceFault.When, times: Int? = nil, connectionsBefore: Int = 0) -> ArmedServiceFault {
        ArmedServiceFault(
            ServiceFault(when: when, times: times, then: .stall()), .hex, connectionsBefore: connectionsBefore)
    }

    private func matches(
        _ armed: ArmedServiceFault, connection: Int = 1, request: Int = 1, token: [UInt8] = [1, 2, 3],
        topic: String? = nil
    ) -> Bool {
        token.withUnsafeBytes {
            armed.matches(.init(connection: connection, request: request, topic: topic), token: $0)
        }
    }

    @Test func `a condition left out fits everything`() {
        #expect(matches(armed(.init())))
    }

    @Test func `every stated condition must fit`() {
        let fault = armed(.init(request: 3, token: "010203", topic: "app"))
        #expect(matches(fault, request: 3, topic: "app"))
        #expect(!matches(fault, request: 2, topic: "app"))
        #expect(!matches(fault, request: 3, token: [1, 2, 4], topic: "app"))
        #expect(!matches(fault, request: 3, topic: "other"))
    }

    @Test func `a prefix fits its tokens`() {
        let fault = armed(.init(tokenPrefix: "0102"))
        #expect(matches(fault, token: [1, 2, 9]))
        #expect(!matches(fault, token: [1, 3, 9]))
        #expect(!matches(fault, token: [1]))
    }

    @Test func `a fault is spent after its times`() {
        let fault = armed(.init(), times: 2)
        #expect((1...4).map { matches(fault, request: $0) } == [true, true, false, false])
        #expect(fault.timesHappened == 2)
    }

    @Test func `after lets the first pass and every takes each n-th`() {
        let fault = armed(.init(after: 2, every: 3))
        #expect((1...8).filter { matches(fault, request: $0) } == [5, 8])
    }

    @Test func `connections are counted from when the fault was set`() {
        let fault = armed(.init(connection: 1, requestsFrom: 2), connectionsBefore: 4)
        #expect(!matches(fault, connection: 4, request: 2))
        #expect(!matches(fault, connection: 5, request: 1))
        #expect(matches(fault, connection: 5, request: 2))
    }

    @Test func `a share is about its size, with stable tokens`() {
        func matching(salt: UInt64?) -> [Int] {
            let fault = armed(.init(share: 0.01, salt: salt))
            return (0..<20_000).filter { number in
                matches(fault, token: withUnsafeBytes(of: number) { Array($0) })
            }
        }
        let share = matching(salt: nil)
        #expect((140...260).contains(share.count))
        #expect(share == matching(salt: nil))
        #expect(share != matching(salt: 1))
        #expect(!matches(armed(.init(share: 0))))
        #expect(matches(armed(.init(share: 1))))
    }
}
