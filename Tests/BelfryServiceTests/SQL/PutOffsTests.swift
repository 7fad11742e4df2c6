import BelfryTesting
import Logging
import Testing

@testable import BelfryService

@Suite struct PutOffsTests {
    @Test func `housekeeping that goes on failing is an error each minute`() {
        let log = CapturedLog()
        let putOffs = PutOffs(log.logger)
        let start = ContinuousClock.now
        func fail(at second: Int) {
            putOffs.note(.failure(StoreError.unavailable("full")), of: "topics", at: start + .seconds(second))
        }
        for second in 0..<120 { fail(at: second) }
        #expect(log.lines(atLeast: .error).count == 1)
        putOffs.note(.success(()), of: "topics")
        fail(at: 120)
        #expect(log.lines(atLeast: .error).count == 1)
        fail(at: 180)
        #expect(log.lines(atLeast: .error).count == 2)
    }
}
