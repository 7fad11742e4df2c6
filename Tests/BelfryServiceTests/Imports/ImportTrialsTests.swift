import BelfryTesting
import Testing

@testable import BelfryService

/// Dry runs that are remembered between two requests.
@Suite struct ImportTrialsTests {
    @Test func `a tenant's dry runs displace only its own`() throws {
        let trials = ImportTrials()
        let service = ImportService(store: try SQLiteStore.temporary(clock: ManualClock()), platforms: [])
        trials.keep(service, of: Key(1), for: Key(1))
        for job in 100..<200 { trials.keep(service, of: Key(Int64(job)), for: Key(2)) }
        #expect(trials.service(of: Key(1)) != nil)
        let kept = (100..<200).filter { trials.service(of: Key(Int64($0))) != nil }
        #expect(kept == Array(200 - ImportTrials.countMax + 1..<200))
    }

    @Test func `a tenant without any takes the place of the oldest`() throws {
        let trials = ImportTrials()
        let service = ImportService(store: try SQLiteStore.temporary(clock: ManualClock()), platforms: [])
        for job in 0..<ImportTrials.countMax { trials.keep(service, of: Key(Int64(job)), for: Key(2)) }
        trials.keep(service, of: Key(100), for: Key(1))
        #expect(trials.service(of: Key(0)) == nil && trials.service(of: Key(1)) != nil)
        #expect(trials.service(of: Key(100)) != nil)
        trials.forget(Key(100))
        #expect(trials.service(of: Key(100)) == nil)
    }
}
