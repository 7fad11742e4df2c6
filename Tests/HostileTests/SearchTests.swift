import Testing

/// Row 11: searches and far pages, which look at more than they return.
extension HostileTests {
    @Suite struct SearchTests {
        private static let paths = [
            "/v2/registrations?q=a", "/v2/registrations?page=1000000000000000&size=50",
            "/v2/custom_user_ids?page=1000000000000&size=50", "/v2/registrations?q=zz", "/v2/custom_user_ids?q=e",
        ]

        @Test(arguments: Engine.allCases)
        func `searches of a tenant without devices refuse no others`(engine: Engine) async throws {
            // The attack is on the searches' turns, not on the share of requests that each back end has.
            try await TestServer.with(engine, ["limit.senders.per.second": "0"]) { server in
                let full = try server.application()
                try Self.fill(try server.platform(of: full, .android), server)
                let empty = try server.application("Butcher")
                _ = try server.platform(of: empty, .android)
                let (_, neighbours) = try await Neighbours.beside(server, count: 1) { _, number in
                    HTTPText.request("GET", "/v2/registrations?q=token-0\(number % 10)", as: full.backEnd)
                } attack: {
                    try await Self.attack(server, with: empty, callers: 40, requests: 5)
                }
                #expect(neighbours.refused.isEmpty, "\(neighbours.refused)")
                #expect(neighbours.served > 0)
            }
        }

        @Test(arguments: Engine.allCases)
        func `a far page costs what the first does`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                try Self.fill(try server.platform(of: application, .android), server)
                for path in ["/v2/registrations", "/v2/custom_user_ids", "/v2/topics", "/v1/locations", "/v1/geofence"]
                {
                    let ratio = try CostRatio.measured(server) {
                        for page in [1_000_000_000_000_000, Int.max] {
                            _ = try server.send("GET", "\(path)?page=\(page)&size=50", as: application.backEnd)
                        }
                    } flat: {
                        for _ in 0..<2 { _ = try server.send("GET", "\(path)?page=1&size=50", as: application.backEnd) }
                    }
                    #expect(ratio.isBounded, "\(path): \(ratio)")
                }
            }
        }

        /// A caller that asks and leaves at once has no work done for it.
        @Test(arguments: Engine.allCases)
        func `leaving callers take nothing from staying ones`(engine: Engine) async throws {
            try await TestServer.with(engine, ["limit.senders.per.second": "0"]) { server in
                let full = try server.application()
                try Self.fill(try server.platform(of: full, .android), server)
                let other = try server.application("Butcher")
                let (_, neighbours) = try await Neighbours.beside(server, count: 1) { _, number in
                    HTTPText.request("GET", "/v2/registrations?q=token-0\(number % 10)", as: full.backEnd)
                } attack: {
                    for number in 0..<100 {
                        let connection = try server.connect()
                        let path = Self.paths[number % Self.paths.count]
                        try connection.sendWhatIsTaken(Array(HTTPText.request("GET", path, as: other.backEnd).utf8))
                    }
                }
                #expect(neighbours.refused.isEmpty, "\(neighbours.refused)")
            }
        }

        private static func attack(
            _ server: TestServer, with application: TestApplication, callers: Int, requests: Int
        ) async throws {
            await withTaskGroup(of: Void.self) { group in
                for caller in 0..<callers {
                    group.addTask {
                        for number in 0..<requests {
                            let path = paths[(caller + number) % paths.count]
                            _ = try? server.send("GET", path, as: application.backEnd)
                        }
                    }
                }
            }
        }

        private static func fill(_ platform: TestPlatform, _ server: TestServer) throws {
            let connection = try server.connect()
            for number in 0..<400 {
                let body = #"{"registration_token":"token-\#(number)","device_alias":"alias of a device \#(number)"}"#
                try connection.send(HTTPText.request("POST", "/v1/registration", body, as: platform.device))
                try #require(connection.answer()?.status == 200)
            }
        }
    }
}
