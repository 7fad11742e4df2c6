import Testing

/// Rows 1, 2 and 14 of the attack table: what one connection can make the server keep.
extension HostileTests {
    @Suite struct MemoryTests {
        /// Row 1.
        @Test(arguments: Bounds.engines(turn: 2))
        func `answers that no client reads stop the reading of requests`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                for request in [HTTPText.request("GET", "/openapi.yaml"), try UnreadAnswers.largeAnswer(server)] {
                    let attack = try UnreadAnswers(server, request)
                    #expect(attack.isBounded, "\(attack)")
                    #expect(attack.answeredOnceRead == UnreadAnswers.requests)
                }
            }
        }

        /// Row 2.
        @Test(arguments: Bounds.engines(turn: 3))
        func `bytes behind a protocol upgrade are dropped`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                for request in [
                    "GET /v1/version HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
                    "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
                ] {
                    let gained = try server.process.bytesGained {
                        let connection = try server.connect()
                        try connection.send(request)
                        #expect(connection.answer() != nil)
                        try connection.sendWhatIsTaken([UInt8](repeating: 0x78, count: 64 * 1_048_576))
                    }
                    #expect(gained < Bounds.bytesOfNoise, "\(request.prefix(7)): \(gained) bytes")
                }
            }
        }

        /// Row 2: a connection whose upgrade is ignored is not deaf.
        @Test func `a request behind an upgrade is answered`() async throws {
            try await TestServer.with(.sqlite) { server in
                let connection = try server.connect()
                try connection.send(
                    "GET /v1/version HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
                #expect(connection.answer()?.status == 200)
                try connection.sendWhatIsTaken(Array(HTTPText.request("GET", "/v1/version").utf8))
                let next = connection.answer()
                #expect(next?.status == 200 || connection.isClosedByServer)
            }
        }

        /// Row 14.
        @Test func `thousands of tiny heads stay within the connection's memory`() async throws {
            try await TestServer.with(.sqlite) { server in
                let heads = Array(String(repeating: "GET / HTTP/1.1\r\nHost:\r\n\r\n", count: 6_000).utf8)
                var connections: [RawConnection] = []
                let gained = try server.process.bytesGained {
                    for _ in 0..<16 {
                        connections.append(try RawConnection(port: server.port, receiveBufferBytes: 4_096))
                        try connections.last?.sendWhatIsTaken(heads, timeout: 50)
                    }
                    try server.process.waitUntilIdle()
                }
                #expect(gained < Bounds.bytesOfNoise + 16 * Bounds.bytesPerConnection, "\(gained) bytes")
            }
        }

        /// One application's share of bodies that are read (`share.uploads.mib`) is 16 MiB; more is refused at once.
        @Test(arguments: Bounds.engines(turn: 4))
        func `endless bodies stay within their application's share`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let platform = try server.platform(of: try server.application(), .android)
                let head = HTTPText.request(
                    "POST", "/v1/registration", as: platform.device, ["Content-Length: 1048576"])
                let unfinished = Array((head + String(repeating: " ", count: 1_048_575)).utf8)
                var connections: [RawConnection] = []
                let gained = try server.process.bytesGained {
                    for _ in 0..<64 {
                        connections.append(try server.connect())
                        try connections.last?.sendWhatIsTaken(unfinished, timeout: 100)
                    }
                    try server.process.waitUntilIdle()
                }
                #expect(gained < Bounds.bytesOfNoise + 2 * 16 * 1_048_576, "\(gained) bytes")
                #expect(connections.last?.answer()?.status == 429)
            }
        }

        /// A head that never ends may hold what a head may be long, and the same again while it is read.
        @Test func `endless heads stay within the connection's memory`() async throws {
            try await TestServer.with(.sqlite) { server in
                let head = Array("GET / HTTP/1.1\r\nHost: a\r\nx: \(String(repeating: "y", count: 31_000))".utf8)
                var connections: [RawConnection] = []
                let gained = try server.process.bytesGained {
                    for _ in 0..<200 {
                        connections.append(try server.connect())
                        try connections.last?.sendWhatIsTaken(head)
                    }
                    try server.process.waitUntilIdle()
                }
                #expect(gained < Bounds.bytesOfNoise + 200 * 4 * head.count, "\(gained) bytes")
            }
        }
    }
}

/// One connection that asks for a large page again and again, and reads nothing.
struct UnreadAnswers: CustomStringConvertible {
    static let requests = 200

    private let gained: Int
    /// How many answers came when they were read after all.
    let answeredOnceRead: Int

    /// A request whose answer of 100 KB is made anew each time: no two share their bytes.
    static func largeAnswer(_ server: TestServer) throws -> String {
        let platform = try server.platform(of: try server.application(), .android)
        let name = String(repeating: "x", count: 96)
        let tags = (0..<1_000).map { #""\#(name)\#($0)""# }.joined(separator: ",")
        let body = #"{"registration_token":"a-token","tags":[\#(tags)]}"#
        let device = try server.send("POST", "/v1/registration", body, as: platform.device).string("device_uuid")
        return HTTPText.request("GET", "/v1/registration/\(device)", as: platform.device)
    }

    init(_ server: TestServer, _ request: String) throws {
        let once = try server.connect()
        try once.send(request)
        _ = once.answer()
        let connection = try server.connect()
        gained = try server.process.bytesGained {
            try connection.send(String(repeating: request, count: Self.requests))
            try server.process.waitUntilIdle()
        }
        var answered = 0
        while answered < Self.requests, connection.answer()?.status == 200 { answered += 1 }
        answeredOnceRead = answered
    }

    /// The answers are 20 MB together. What the kernel buffers is not the server's.
    var isBounded: Bool { gained < Bounds.bytesOfNoise + Bounds.bytesPerConnection }

    var description: String { "\(gained) bytes for \(Self.requests) answers" }
}
