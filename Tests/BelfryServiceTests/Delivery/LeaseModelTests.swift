import BelfryService
import BelfryTesting
import Testing

/// Claim, lapse, settle and fence: every state of three delivery workers with one batch, whatever dies or dawdles when.
@Suite struct LeaseModelTests {
    @Test(arguments: [Push.Guarantee.atLeastOnce, .atMostOnce])
    func `no state is wrong, and each leads to an end`(guarantee: Push.Guarantee) {
        let states = LeaseModel(workers: 3, mishaps: 2, failures: 1, guarantee: guarantee).reachable().keys
        #expect(states.count > 400, "\(states.count)")
        #expect(Self.faults(of: Set(states)) == [])
    }

    @Test(arguments: [Push.Guarantee.atLeastOnce, .atMostOnce])
    func `cancelling at any moment leaves no wrong state`(guarantee: Push.Guarantee) {
        let states = LeaseModel(workers: 2, mishaps: 1, failures: 1, cancels: 1, guarantee: guarantee).reachable().keys
        #expect(states.count > 200, "\(states.count)")
        #expect(Self.faults(of: Set(states)) == [])
    }

    @Test(arguments: LeaseModel.Fault.allCases)
    func `a protocol with a fault is found out`(fault: LeaseModel.Fault) {
        let guarantee: Push.Guarantee = fault == .tellsTwiceAtMostOnce ? .atMostOnce : .atLeastOnce
        let cancels = fault == .forgetsCancel ? 1 : 0
        let model = LeaseModel(
            workers: 2, mishaps: 1, failures: 1, cancels: cancels, guarantee: guarantee, fault: fault)
        #expect(Self.faults(of: Set(model.reachable().keys)) != [])
    }

    /// Faults of a closed set of states: forbidden states, and states from which no end can be reached.
    private static func faults(of states: Set<LeaseModel>) -> Set<String> {
        var faults = Set(states.compactMap(\.violation))
        var ending = states.filter(\.isDone)
        while true {
            let more = states.subtracting(ending).filter { state in
                state.steps.contains { step in
                    var after = state
                    after.take(step)
                    return ending.contains(after)
                }
            }
            if more.isEmpty { break }
            ending.formUnion(more)
        }
        if ending.count < states.count { faults.insert("\(states.count - ending.count) states lead nowhere") }
        return faults
    }
}
