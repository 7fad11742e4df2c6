import Testing

/// Row 10: event streams, and other answers that last as long as their readers like.
extension HostileTests {
    @Suite struct StreamTests {
        @Test(arguments: Engine.allCases)
        func `one key's endless streams leave some for other tenants`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let other = try server.application("Butcher")
                let key = try server.readOnlyKey(of: application)
                let otherKey = try server.readOnlyKey(of: other)
                var streams: [RawConnection] = []
                var refusal: HTTPAnswer?
                for _ in 0..<300 where refusal == nil {
                    let stream = try server.connect()
                    try stream.send(Self.request(application, key))
                    let head = stream.answer(hasBody: false)
                    if head?.status == 200 { streams.append(stream) } else { refusal = head }
                }
                #expect(refusal?.status == 429)
                #expect(refusal?.headers["retry-after"] != nil)
                let neighbour = try server.connect()
                try neighbour.send(Self.request(other, otherKey))
                #expect(neighbour.answer(hasBody: false)?.status == 200)
                #expect(!streams.isEmpty)
            }
        }

        /// A place that is given back is there for the next.
        @Test func `a reader who leaves makes room for another`() async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let key = try server.readOnlyKey(of: application)
                var streams: [RawConnection] = []
                while streams.count < 300 {
                    let stream = try server.connect()
                    try stream.send(Self.request(application, key))
                    guard stream.answer(hasBody: false)?.status == 200 else { break }
                    streams.append(stream)
                }
                streams.removeAll()
                _ = try waitUntil("there is room again") { () -> Bool? in
                    let stream = try server.connect()
                    try stream.send(Self.request(application, key))
                    return stream.answer(hasBody: false)?.status == 200 ? true : nil
                }
            }
        }

        /// A list of large schedules that is asked for and not read: a chunk of 8 of them is held for each that is served, which are
        /// four at a time (`share.exports.max`).
        @Test(arguments: Engine.allCases)
        func `unread lists stay within the connection's memory`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                _ = try server.platform(of: application)
                let content = String(repeating: "x", count: 60_000)
                for _ in 0..<40 {
                    let body =
                        #"{"message":{"body":"x","custom":{"mine":"\#(content)"}},"target":{"platform":"all"},"scheduleIn":86400}"#
                    _ = try server.send("POST", "/v1/push", body, as: application.backEnd)
                }
                try server.process.waitUntilIdle()
                var readers: [RawConnection] = []
                let gained = try server.process.bytesGained {
                    for _ in 0..<40 {
                        readers.append(try RawConnection(port: server.port, receiveBufferBytes: 4_096))
                        try readers.last?.send(HTTPText.request("GET", "/v1/schedules", as: application.backEnd))
                    }
                    try server.process.waitUntilIdle()
                }
                #expect(gained < Bounds.bytesOfNoise + 4 * 8 * 4 * content.utf8.count, "\(gained) bytes")
            }
        }

        private static func request(_ application: TestApplication, _ key: String) -> String {
            HTTPText.request("GET", "/admin/v1/apps/\(application.uuid)/events", as: key)
        }
    }
}
