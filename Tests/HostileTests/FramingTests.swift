import Testing

/// Rows 9 and 14, and requests that are nearly HTTP: whose bytes are whose on a connection that others share through a proxy.
extension HostileTests {
    @Suite struct FramingTests {
        /// Row 9.
        @Test(arguments: Bounds.engines(turn: 0))
        func `no answer to HEAD has a body, whatever its status`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                let heads: [(path: String, authorization: String?, status: Int)] = [
                    ("/v2/registrations", nil, 401), ("/nothing", nil, 404), ("/v1/push", nil, 405),
                    ("/v2/topics", application.backEnd, 405), ("/openapi.yaml", nil, 200), ("/v1/version", nil, 200),
                    ("/healthcheck", nil, 200), ("/admin/v1/apps", nil, 401),
                ]
                for head in heads {
                    let connection = try server.connect()
                    try connection.send(
                        HTTPText.request("HEAD", head.path, as: head.authorization)
                            + HTTPText.request("GET", "/v1/version"))
                    let status = connection.answer(hasBody: false)?.status
                    #expect(status == head.status || status == 200 || status == 404, "\(head.path): \(status ?? 0)")
                    let next = connection.answer()
                    #expect(next?.status == 200 && next?.text.contains("version") == true, "behind HEAD \(head.path)")
                }
            }
        }

        /// Row 14. Source: RFC 9110 §10.1.1: who is refused need not send the body, and then what follows is not known.
        @Test(arguments: Bounds.engines(turn: 1))
        func `a final answer to Expect leaves no doubt what follows`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let connection = try server.connect()
                try connection.send(
                    "POST /v1/push HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\nExpect: 100-continue\r\n\r\n")
                let refusal = connection.answer()
                #expect(refusal?.status == 401)
                try connection.sendWhatIsTaken(Array(HTTPText.request("GET", "/v1/version").utf8))
                if refusal?.headers["connection"] == "close" {
                    #expect(connection.closes())
                } else {
                    #expect(connection.answer()?.status == 200)
                }
            }
        }

        @Test func `an awaited body is read and the next request answered`() async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let connection = try server.connect()
                let body = #"{"name":"news"}"#
                try connection.send(
                    HTTPText.request(
                        "POST", "/v2/topics", as: application.backEnd,
                        ["Content-Length: \(body.utf8.count)", "Expect: 100-continue"]))
                #expect(connection.answer(hasBody: false)?.status == 100)
                try connection.send(body + HTTPText.request("GET", "/v1/version"))
                #expect(connection.answer()?.status == 201)
                #expect(connection.answer()?.status == 200)
            }
        }

        /// Source: RFC 9112 §3.2.
        @Test(arguments: [
            "GET /v1/version HTTP/1.1\r\n\r\n", "GET /v1/version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ])
        func `a request that names no host, or two, is refused`(request: String) async throws {
            try await TestServer.with(.sqlite) { server in
                let connection = try server.connect()
                try connection.send(request)
                #expect(connection.answer()?.status == 400)
            }
        }

        /// Lengths that two readers may understand in two ways. They are refused, and nothing behind them is taken for a request.
        private static let doubtfulLengths = [
            "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: +5", "Content-Length: 5, 5", "Content-Length: 0x5", "Content-Length: -1",
            "Content-Length: 9223372036854775808", "Content-Length: 18446744073709551616",
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding : chunked",
        ]

        @Test func `a body of doubtful length is refused and closes`() async throws {
            try await TestServer.with(.sqlite) { server in
                for lengths in Self.doubtfulLengths {
                    let connection = try server.connect()
                    try connection.sendWhatIsTaken(
                        Array(
                            ("POST /v1/push HTTP/1.1\r\nHost: a\r\n\(lengths)\r\n\r\n0\r\n\r\n"
                                + HTTPText.request("GET", "/v1/version")).utf8))
                    connection.finish()
                    let answer = connection.answer()
                    #expect(answer == nil || 400..<500 ~= answer?.status ?? 0, "\(answer?.status ?? 0)")
                    while let next = connection.answer() { #expect(next.status != 200) }
                    #expect(connection.isClosedByServer)
                }
            }
        }

        private static let doubtfulChunks = [
            "1;\(String(repeating: "x", count: 100_000))\r\n{\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\n{}", "-1\r\n{}",
            "1\r\n{}\r\n0\r\n\r\n", "0x1\r\n{\r\n0\r\n\r\n", "0\r\n\(String(repeating: "x: y\r\n", count: 20_000))\r\n",
        ]

        @Test func `malformed or wasteful chunks end the connection`() async throws {
            try await TestServer.with(.sqlite) { server in
                let platform = try server.platform(of: try server.application(), .android)
                for body in Self.doubtfulChunks {
                    let connection = try server.connect()
                    try connection.sendWhatIsTaken(
                        Array(
                            (HTTPText.request(
                                "POST", "/v1/registration", as: platform.device, ["Transfer-Encoding: chunked"]) + body)
                                .utf8)
                    )
                    connection.finish()
                    let answer = connection.answer()
                    #expect(answer == nil || 400..<500 ~= answer?.status ?? 0, "\(answer?.status ?? 0)")
                    #expect(try server.send("GET", "/v1/version").status == 200)
                }
            }
        }
    }
}
