import Testing

/// Pushes to one device, as many as their sender gets through, beside others.
extension HostileTests {
    @Suite struct SmallPushTests {
        @Test(arguments: Engine.allCases)
        func `a flood to one device blocks no writer, stays readable`(
            engine: Engine
        ) async throws {
            try await TestServer.with(engine, ["limit.senders.per.second": "0"]) { server in
                let flooder = try server.application()
                let platform = try server.platform(of: flooder, .android)
                let device = try server.send(
                    "POST", "/v1/registration", #"{"registration_token":"a-token"}"#, as: platform.device
                ).string("device_uuid")
                let push = #"{"message":{"body":"Hi"},"target":{"devices":["\#(device)"]}}"#
                let other = try server.application("Butcher")
                let (written, flood) = try await Neighbours.beside(server, count: 8) { _, _ in
                    HTTPText.request("POST", "/v1/push", push, as: flooder.backEnd)
                } attack: {
                    try (0..<50).filter { turn in
                        try server.send("POST", "/v2/topics", #"{"name":"n\#(turn)"}"#, as: other.backEnd).status == 201
                    }.count
                }
                #expect(written == 50)
                #expect(flood.refused.isEmpty, "\(flood.refused)")
                #expect(flood.served > 50)
                #expect(try Self.pushes(of: flooder, server) == flood.served)
            }
        }

        private static func pushes(of application: TestApplication, _ server: TestServer) throws -> Int {
            var count = 0
            var cursor: String?
            repeat {
                let page = try server.send(
                    "GET", "/admin/v1/apps/\(application.uuid)/pushes?limit=200\(cursor.map { "&cursor=\($0)" } ?? "")",
                    as: server.asOperator)
                count += (page["pushes"] as? [Any])?.count ?? 0
                cursor = page["next_cursor"] as? String
            } while cursor != nil
            return count
        }
    }
}
