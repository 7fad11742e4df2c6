import Testing

/// Rows 4, 5, 6 and 8: shapes of JSON that cost more than their length.
extension HostileTests {
    @Suite struct JSONCostTests {
        /// Row 4.
        @Test(arguments: Engine.allCases)
        func `a nested registration costs what a flat one does`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let ratio = try NestedRegistration.cost(server)
                #expect(ratio.isBounded, "\(ratio)")
            }
        }

        /// Rows 5 and 8: the same decoding, once for each web platform, and on PostgreSQL on a thread with a small stack.
        @Test(arguments: Engine.allCases)
        func `nested tokens in a tag batch cost as flat ones`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                for _ in 0..<4 { _ = try server.platform(of: application) }
                let (deep, flat) = (Self.batch(depth: 400), Self.batch(depth: 1))
                let ratio = try CostRatio.measured(server) {
                    _ = try server.send("POST", "/v1/tags/batch", deep, as: application.backEnd)
                } flat: {
                    _ = try server.send("POST", "/v1/tags/batch", flat, as: application.backEnd)
                }
                #expect(ratio.isBounded, "\(ratio)")
                #expect(server.process.endedWith == nil)
            }
        }

        private static func batch(depth: Int) -> String {
            let items = (0..<4).map { number in
                let token = HostileJSON.subscription(
                    number: number, extra: HostileJSON.nested(depth: depth, bytes: 3_500))
                return #"{"registration_token":\#(HostileJSON.string(token)),"tags":["town"]}"#
            }
            return "[\(items.joined(separator: ","))]"
        }

        /// Row 6: as deep as is taken. What was taken once is read again by the cancel, in the writer.
        @Test(arguments: Engine.allCases)
        func `cancelling a nested schedule costs as a flat one`(
            engine: Engine
        ) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                let ratio = try CostRatio.measured(server) {
                    try Self.scheduleAndCancel(HostileJSON.nested(depth: 60, bytes: 60_000), application, server)
                } flat: {
                    try Self.scheduleAndCancel(HostileJSON.flat(bytes: 60_000), application, server)
                }
                #expect(ratio.isBounded, "\(ratio)")
            }
        }

        private static func scheduleAndCancel(
            _ custom: String, _ application: TestApplication, _ server: TestServer
        ) throws {
            let answer = try server.send(
                "POST", "/v1/push",
                #"{"message":{"body":"x","custom":{"mine":\#(custom)}},"target":{"platform":"all"},"scheduleIn":86400}"#,
                as: application.backEnd)
            // Whatever is refused costs nothing later.
            guard answer.status == 200 else { return }
            let id = try answer.string("schedule_id")
            #expect(try server.send("DELETE", "/v1/schedules/\(id)", as: application.backEnd).status == 204)
        }

        @Test func `content costs by length, whatever its shape`()
            async throws
        {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                for shape in Shape.allCases {
                    let (strange, flat) = (Self.push(shape.value(bytes: 60_000)), Self.push(Shape.flat(bytes: 60_000)))
                    let ratio = try CostRatio.measured(server) {
                        _ = try server.send("POST", "/v1/push", strange, as: application.backEnd)
                    } flat: {
                        _ = try server.send("POST", "/v1/push", flat, as: application.backEnd)
                    }
                    #expect(ratio.isBounded, "\(shape): \(ratio)")
                }
            }
        }

        private static func push(_ custom: String) -> String {
            #"{"message":{"body":"x","custom":{"mine":\#(custom)}},"target":{"platform":"all"}}"#
        }

        /// JSON that goes deeper than is read is refused by every route.
        @Test(arguments: Bounds.engines(turn: 20))
        func `depth without end is refused by every route`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let routes = try TooDeep.takers(server, depths: [65, 512, 100_000])
                #expect(routes == [])
                #expect(server.process.endedWith == nil)
            }
        }
    }
}

/// Arrays in arrays, offered to every route.
enum TooDeep {
    /// The routes that take them.
    static func takers(_ server: TestServer, depths: [Int]) throws -> [String] {
        let application = try server.application()
        let platform = try server.platform(of: application)
        var takers: [String] = []
        for depth in depths {
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let token = HostileJSON.string(HostileJSON.subscription(extra: value))
            let push = #"{"message":{"body":"x","custom":{"mine":\#(value)}},"target":{"platform":"all"}}"#
            for (path, body, authorization) in [
                ("/v1/push", push, application.backEnd),
                ("/v2/topics", #"{"name":"n","x":\#(value)}"#, application.backEnd),
                ("/v1/geofence", #"{"data":{"mine":\#(value)}}"#, application.backEnd),
                ("/v1/tags/batch", value, application.backEnd),
                ("/admin/v1/apps/\(application.uuid)/pushes", push, server.asOperator),
                ("/v1/registration", #"{"registration_token":\#(token)}"#, platform.device),
            ] {
                let answer = try server.send("POST", path, body, as: authorization)
                if answer.status != 400 { takers.append("\(path), depth \(depth): \(answer.status)") }
            }
        }
        return takers
    }
}

/// Row 4: a subscription of Web Push whose only fault is its shape.
enum NestedRegistration {
    static func cost(_ server: TestServer) throws -> CostRatio {
        let platform = try server.platform(of: try server.application())
        let (deep, flat) = (body(depth: 400), body(depth: 1))
        return try CostRatio.measured(server) {
            _ = try server.send("POST", "/v1/registration", deep, as: platform.device)
        } flat: {
            _ = try server.send("POST", "/v1/registration", flat, as: platform.device)
        }
    }

    private static func body(depth: Int) -> String {
        let token = HostileJSON.subscription(extra: HostileJSON.nested(depth: depth, bytes: 3_500))
        return #"{"registration_token":\#(HostileJSON.string(token))}"#
    }
}

/// Shapes that a value of the same length may have.
enum Shape: String, CaseIterable, Sendable {
    case emptyObjects, emptyArrays, emptyTexts, members, sameMember, escapes, surrogates, longNumbers, combiningMarks

    static func flat(bytes: Int) -> String { HostileJSON.flat(bytes: bytes) }

    func value(bytes: Int) -> String {
        switch self {
        case .emptyObjects: list("{}", bytes)
        case .emptyArrays: list("[]", bytes)
        case .emptyTexts: list(#""""#, bytes)
        case .members: "{" + (0..<(bytes / 10)).map { #""k\#($0)":1"# }.joined(separator: ",") + "}"
        case .sameMember: "{" + Array(repeating: #""k":1"#, count: bytes / 6).joined(separator: ",") + "}"
        case .escapes: "\"" + String(repeating: "\\n", count: bytes / 2) + "\""
        case .surrogates: "\"" + String(repeating: #"\ud83d\ude00"#, count: bytes / 12) + "\""
        case .longNumbers: list("-1.2345678901234567e-300", bytes)
        case .combiningMarks: "\"" + String(repeating: "\u{315}\u{300}\u{5AE}", count: bytes / 6) + "\""
        }
    }

    private func list(_ element: String, _ bytes: Int) -> String {
        "[" + Array(repeating: element, count: bytes / (element.utf8.count + 1)).joined(separator: ",") + "]"
    }
}
