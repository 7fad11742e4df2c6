import Testing

/// Shows that the judges of the other tests can say no: a defence is left out, and they notice.
extension HostileTests {
    @Suite struct PlantedFaultTests {
        @Test func `routes without depth limit are found taking deep content`() async throws {
            try await TestServer.with(.sqlite, fault: "json-depth") { server in
                let routes = try TooDeep.takers(server, depths: [65])
                #expect(routes != [])
            }
        }

        @Test func `unread answers without back pressure are found filling memory`() async throws {
            try await TestServer.with(.sqlite, fault: "back-pressure") { server in
                let attack = try UnreadAnswers(server, try UnreadAnswers.largeAnswer(server))
                #expect(!attack.isBounded, "\(attack)")
            }
        }
    }
}
