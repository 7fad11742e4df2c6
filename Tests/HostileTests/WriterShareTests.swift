import Testing

/// Rows 5, 6 and 13: how long one caller's write keeps those of other tenants waiting.
extension HostileTests {
    @Suite struct WriterShareTests {
        /// Twenty-four thousand subscriptions in one request.
        @Test(arguments: Engine.allCases)
        func `others write while one request subscribes to very many topics`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let platform = try server.platform(of: application, .android)
                let tokens = (0..<24).map { "token\($0)" }
                for token in tokens {
                    let body = #"{"registration_token":"\#(token)"}"#
                    #expect(try server.send("POST", "/v1/registration", body, as: platform.device).status == 200)
                }
                let topics = (0..<1_000).map { #"{"name":"t\#($0)"}"# }.joined(separator: ",")
                let made = try server.send(
                    "POST", "/v2/topics/batch", #"{"topics":[\#(topics)]}"#, as: application.backEnd)
                #expect(made.status == 201, "\(made.status)")
                let tags = (0..<1_000).map { #""t\#($0)""# }.joined(separator: ",")
                let items = tokens.map { token in
                    #"{"registration_token":"\#(token)","tags":[\#(tags)]}"#
                }
                // 512 subscriptions a step.
                try await Self.expectOthersWrite(server, steps: 24_000 / 512) {
                    let answer = try server.send(
                        "POST", "/v1/tags/batch", "[\(items.joined(separator: ","))]", as: application.backEnd)
                    #expect(answer.status == 200, "\(answer.text.prefix(200))")
                }
            }
        }

        /// Row 5: nested tokens, which the writer has to compare with each web platform.
        @Test(arguments: Engine.allCases)
        func `web token look-ups do not block other writers`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                for _ in 0..<4 { _ = try server.platform(of: application) }
                let items = (0..<200).map { number in
                    let token = HostileJSON.subscription(
                        number: number, extra: HostileJSON.nested(depth: 40, bytes: 1_000))
                    return #"{"registration_token":\#(HostileJSON.string(token)),"tags":["town"]}"#
                }
                // 64 devices a step.
                try await Self.expectOthersWrite(server, steps: 4) {
                    _ = try server.send(
                        "POST", "/v1/tags/batch", "[\(items.joined(separator: ","))]", as: application.backEnd)
                }
            }
        }

        /// An application with much in it is deleted step by step.
        @Test(arguments: Engine.allCases)
        func `others write while an application goes`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let platform = try server.platform(of: application, .android)
                let topics = (0..<1_000).map { #""t\#($0)""# }.joined(separator: ",")
                for device in 0..<60 {
                    let body = #"{"registration_token":"token\#(device)","tags":[\#(topics)]}"#
                    #expect(try server.send("POST", "/v1/registration", body, as: platform.device).status == 200)
                }
                try await Self.expectOthersWrite(server, steps: 4) {
                    let path = "/admin/v1/apps/\(application.uuid)?force=true"
                    let deletion = try server.send("DELETE", path, as: server.asOperator)
                    #expect(deletion.status == 204)
                }
            }
        }

        /// Neighbours are all served, and write at least once for each step of the attack.
        ///
        /// - Parameter steps: transactions that the attack is cut into, docs/Architecture.md.
        private static func expectOthersWrite(
            _ server: TestServer, steps: Int, while attack: @escaping @Sendable () throws -> Void
        ) async throws {
            let other = try server.application("Butcher")
            let (written, neighbours) = try await Neighbours.beside(server, count: 4) { caller, number in
                HTTPText.request("POST", "/v2/topics", #"{"name":"n\#(caller).\#(number)"}"#, as: other.backEnd)
            } attack: {
                let before = try topics(of: other, server)
                try attack()
                return try topics(of: other, server) - before
            }
            #expect(neighbours.refused.isEmpty, "\(neighbours.refused)")
            #expect(written >= steps, "\(written) writes of others in \(steps) steps")
        }

        private static func topics(of application: TestApplication, _ server: TestServer) throws -> Int {
            let answer = try server.send("GET", "/v2/topics?size=1", as: application.backEnd)
            return answer["totalTopics"] as? Int ?? 0
        }
    }
}
