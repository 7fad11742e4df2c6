import Testing

@testable import BelfrySimulators

@Suite struct ArmedFaultTests {
    private func armed(_ when: ServiceFault.When, times: Int? = nil, connectionsBefore: Int = 0) -> ArmedServiceFault {
        ArmedServiceFault(
            ServiceFault(when: when, times: times, then: .stall()), .hex, connectionsBefore: connectionsBefore)
    }

    private func strikes(
        _ armed: ArmedServiceFault, connection: Int = 1, request: Int = 1, token: [UInt8] = [1, 2, 3],
        topic: String? = nil
    ) -> Bool {
        token.withUnsafeBytes {
            armed.strikes(.init(connection: connection, request: request, topic: topic), token: $0)
        }
    }

    @Test func `a condition left out fits everything`() {
        #expect(strikes(armed(.init())))
    }

    @Test func `every stated condition must fit`() {
        let fault = armed(.init(request: 3, token: "010203", topic: "app"))
        #expect(strikes(fault, request: 3, topic: "app"))
        #expect(!strikes(fault, request: 2, topic: "app"))
        #expect(!strikes(fault, request: 3, token: [1, 2, 4], topic: "app"))
        #expect(!strikes(fault, request: 3, topic: "other"))
    }

    @Test func `a prefix fits its tokens`() {
        let fault = armed(.init(tokenPrefix: "0102"))
        #expect(strikes(fault, token: [1, 2, 9]))
        #expect(!strikes(fault, token: [1, 3, 9]))
        #expect(!strikes(fault, token: [1]))
    }

    @Test func `a fault is spent after its times`() {
        let fault = armed(.init(), times: 2)
        #expect((1...4).map { strikes(fault, request: $0) } == [true, true, false, false])
        #expect(fault.timesHappened == 2)
    }

    @Test func `after lets the first pass and every takes each n-th`() {
        let fault = armed(.init(after: 2, every: 3))
        #expect((1...8).filter { strikes(fault, request: $0) } == [5, 8])
    }

    @Test func `connections are counted from when the fault was set`() {
        let fault = armed(.init(connection: 1, requestsFrom: 2), connectionsBefore: 4)
        #expect(!strikes(fault, connection: 4, request: 2))
        #expect(!strikes(fault, connection: 5, request: 1))
        #expect(strikes(fault, connection: 5, request: 2))
    }

    @Test func `a share is about its size and the same tokens each time`() {
        func struck(salt: UInt64?) -> [Int] {
            let fault = armed(.init(share: 0.01, salt: salt))
            return (0..<20_000).filter { number in
                strikes(fault, token: withUnsafeBytes(of: number) { Array($0) })
            }
        }
        let share = struck(salt: nil)
        #expect((140...260).contains(share.count))
        #expect(share == struck(salt: nil))
        #expect(share != struck(salt: 1))
        #expect(!strikes(armed(.init(share: 0))))
        #expect(strikes(armed(.init(share: 1))))
    }
}
