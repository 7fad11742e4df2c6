import Testing

@testable import PostgreSQL

@Suite struct ServerEraTests {
    @Test func `an era ends once, and not before its time`() {
        let era = ServerEra()
        let start = ContinuousClock.now
        era.end(0, at: start)
        era.end(0, at: start)
        #expect(era.number(at: start) == 1)
        era.end(1, at: start + .seconds(1))
        #expect(era.number(at: start + .seconds(4)) == 1, "connections that only read stay")
        #expect(era.number(at: start + .seconds(5)) == 2)
        era.end(2, at: start + .seconds(60))
        #expect(era.number(at: start + .seconds(60)) == 3)
    }
}
