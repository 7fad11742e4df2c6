import Testing

/// Shows that the judges of the other tests can say no: a defence is left out, and they notice.
extension HostileTests {
    @Suite struct PlantedFaultTests {
        @Test func `without a limit of depth, routes are found to take what is too deep`() async throws {
            try await TestServer.with(.sqlite, fault: "json-depth") { server in
                let routes = try TooDeep.takers(server, depths: [65])
                #expect(routes != [])
            }
        }

        @Test func `without back pressure, answers that no client reads are found to fill the memory`() async throws {
            try await TestServer.with(.sqlite, fault: "back-pressure") { server in
                let attack = try UnreadAnswers(server, try UnreadAnswers.largeAnswer(server))
                #expect(!attack.isBounded, "\(attack)")
            }
        }
    }
}
