import BelfryService
import Crypto
import Foundation
import Testing

/// Guessers and crowds before the login: the answers they get, and the callers they hold up.
extension HostileTests {
    @Suite struct LoginTests {
        /// Failures in a row at one address that are not slowed, and one more.
        private static let guesses = 6

        /// Failures in a row within a time: the first waits, each twice the one before, may end meanwhile.
        private static func guesses(
            _ guesses: Int = guesses, firstWait: Duration = .milliseconds(100), within time: Duration
        ) -> Int {
            var (count, wait) = (guesses, firstWait)
            var end = wait
            while end <= time {
                (count, wait) = (count + 1, wait * 2)
                end += wait
            }
            return count
        }

        /// Releases requests together. Returns the statuses of their answers, and the most of them that may be checked at one address.
        private static func released(
            _ requests: [String], _ server: TestServer
        ) throws -> (statuses: [Int: Int], checkedMax: Int) {
            let clock = ContinuousClock()
            let start = clock.now
            let statuses = try server.released(requests)
            return (statuses, guesses(within: clock.now - start))
        }

        /// A proxy says who calls, so that one machine plays many.
        private static let proxied = ["http.trusted.proxies": "127.0.0.0/8"]
        /// `proxied` with a longer deadline, as 33 derivations take long on a busy machine without optimization.
        private static let patient = proxied.merging(["http.request.seconds": "300"]) { _, new in new }
        private static let email = "ops@example.org"

        private static func code(_ secret: [UInt8], _ shift: Int64 = 0) -> String {
            let step = Int64(Date().timeIntervalSince1970) / OneTimeCode.stepSeconds + shift
            return OneTimeCode.code(of: secret, at: step) { key, message in
                Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: key)))
            }
        }

        /// Turns the second factor of somebody who is logged in on; its secret and a recovery code.
        static func turnOn(_ visitor: inout Visitor) throws -> (secret: [UInt8], recovery: String) {
            var last = ""
            // On a busy machine a code may end before the password beside it was derived.
            for _ in 1...4 {
                let page = try visitor.get("/dashboard/account/two-factor")
                let text = String(try #require(page.text.firstMatch(of: /name="secret" value="([A-Z2-7]{32})"/)?.1))
                let secret = try #require(OneTimeCode.secret(base32: text))
                let on = try visitor.post(
                    "/dashboard/account/two-factor",
                    [
                        ("csrf", try Visitor.token(in: page)), ("secret", text), ("code", code(secret)),
                        ("password", TestServer.password),
                    ])
                if let codes = on.text.firstMatch(of: /<code>([a-z1-9\-\n]+)<\/code>/)?.1.split(separator: "\n") {
                    return (secret, String(try #require(codes.first)))
                }
                last = "\(on.status) \(on.text.suffix(2_000))"
            }
            return try #require(nil as (secret: [UInt8], recovery: String)?, "no second factor: \(last)")
        }

        static func proof(_ answer: HTTPAnswer) throws -> String {
            String(try #require(answer.text.firstMatch(of: /name="proof" value="([0-9a-f]+)"/)?.1, "\(answer.status)"))
        }

        @Test(arguments: Bounds.engines(turn: 7))
        func `few of the simultaneous codes are checked`(engine: Engine) async throws {
            try await TestServer.with(engine, Self.proxied) { server in
                var owner = try server.firstOperator()
                let (secret, recovery) = try Self.turnOn(&owner)
                // Somebody who knows the password, at as many addresses as they like.
                var thief = Visitor(server, at: "192.0.2.1")
                let asked = try thief.login(Self.email, TestServer.password)
                let (proof, token) = (try Self.proof(asked), try Visitor.token(in: asked))
                let right = Set((-2...2 as ClosedRange<Int64>).map { Self.code(secret, $0) })
                let wrong = (0..<400).map { String(format: "%06d", $0 * 7) }.filter { !right.contains($0) }.prefix(250)
                let requests = wrong.enumerated().map { number, code in
                    thief.address = number < 125 ? "192.0.2.1" : "198.51.100.\(number)"
                    return thief.request(
                        "POST", "/dashboard/login", [("csrf", token), ("proof", proof), ("code", code)])
                }
                // Of the account ten from all addresses, and one more.
                let start = ContinuousClock.now
                let told = try server.released(Array(requests))
                let checkedMax = Self.guesses(11, firstWait: .seconds(1), within: .now - start)
                #expect((11...checkedMax).contains(told[401, default: 0]), "\(told)")
                #expect(told[401, default: 0] + told[429, default: 0] == 250, "\(told)")
                // The owner, whose browser is known, is let in meanwhile, once with each code.
                for expected in [303, 401] {
                    owner.forgetSession()
                    let mine = try owner.login(Self.email, TestServer.password)
                    let fields = [
                        ("csrf", try Visitor.token(in: mine)), ("proof", try Self.proof(mine)), ("code", recovery),
                    ]
                    #expect(try owner.post("/dashboard/login", fields).status == expected)
                }
                // A right code that is sent many times at once is good once.
                let mine = try owner.login(Self.email, TestServer.password)
                let fields = [
                    ("csrf", try Visitor.token(in: mine)), ("proof", try Self.proof(mine)),
                    ("code", Self.code(secret, 1)),
                ]
                let once = try server.released(
                    Array(repeating: owner.request("POST", "/dashboard/login", fields), count: 20))
                #expect(once[303] == 1, "\(once)")
            }
        }

        @Test(arguments: Bounds.engines(turn: 8))
        func `few of the simultaneous passwords are checked`(engine: Engine) async throws {
            try await TestServer.with(engine, ["http.request.seconds": "300"]) { server in
                var owner = try server.firstOperator()
                var thief = Visitor(server)
                let token = try thief.token(on: "/dashboard/login")
                let (statuses, checkedMax) = try Self.released(
                    (0..<250).map { number in
                        thief.request(
                            "POST", "/dashboard/login",
                            [("csrf", token), ("email", Self.email), ("password", "a guess, number \(number)")])
                    }, server)
                // One is derived and two wait for it; what else the address sends is refused for its share, and none for others'.
                #expect((3...checkedMax).contains(statuses[401, default: 0]), "\(statuses)")
                #expect(statuses[401, default: 0] + statuses[429, default: 0] == 250, "\(statuses)")
                // The same address, and a browser that it let in before.
                owner.forgetSession()
                #expect(try owner.login(Self.email, TestServer.password).status == 303)
                let keys = try server.released(
                    (0..<250).map { HTTPText.request("GET", "/admin/v1/apps", as: "Bearer bfy_0123456789abcdef_\($0)") }
                )
                #expect(keys[401, default: 0] + keys[429, default: 0] == 250, "\(keys)")
            }
        }

        @Test(arguments: Bounds.engines(turn: 9))
        func `keys and broker passwords are counted before they are told`(engine: Engine) async throws {
            let file = NSTemporaryDirectory() + "/broker-\(UUID().uuidString)"
            try Data("correct horse battery staple".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            defer { try? FileManager.default.removeItem(atPath: file) }
            let settings = [
                "broker.user": "platform", "broker.password.file": file, "broker.api.url": "https://push.example.org",
            ]
            try await TestServer.with(engine, settings) { server in
                let application = try server.application()
                func basic(_ user: String, _ number: Int) -> String {
                    "Basic " + Data("\(user):guess \(number)".utf8).base64EncodedString()
                }
                for (method, path, user) in [
                    ("POST", "/v1/push", application.uuid), ("GET", "/broker/v2/catalog", "platform"),
                ] {
                    let (statuses, checkedMax) = try Self.released(
                        (0..<250).map {
                            HTTPText.request(method, path, method == "GET" ? nil : "{}", as: basic(user, $0))
                        }, server)
                    #expect((Self.guesses...checkedMax).contains(statuses[401, default: 0]), "\(path): \(statuses)")
                    #expect(statuses[401, default: 0] + statuses[429, default: 0] == 250, "\(path): \(statuses)")
                }
            }
        }

        /// Logs in, again and again: what was answered, and how many others had a wrong password derived while one waited.
        private static func logins(_ visitor: inout Visitor, _ count: Int, _ server: TestServer) throws -> (
            statuses: [Int], passed: Int
        ) {
            var (statuses, passed) = ([Int](), 0)
            visitor.forgetSession()
            let token = try visitor.token(on: "/dashboard/login")
            for _ in 0..<count {
                visitor.forgetSession()
                let before = try derived(server)
                let fields = [("csrf", token), ("email", email), ("password", TestServer.password)]
                statuses.append(try visitor.post("/dashboard/login", fields).status)
                passed += try derived(server) - before
            }
            return (statuses, passed)
        }

        /// Wrong passwords that were derived at the dashboard so far.
        private static func derived(_ server: TestServer) throws -> Int {
            let mark = #"belfry_http_requests_total{method="POST",path="/dashboard/login",status="401"} "#
            let line = try server.managementPage("/metrics").split(separator: "\n").first { $0.hasPrefix(mark) }
            return line.flatMap { Int($0.dropFirst(mark.count)) } ?? 0
        }

        @Test(arguments: Bounds.engines(turn: 0))
        func `a crowd of made-up names holds no operator up`(engine: Engine) async throws {
            try await TestServer.with(engine, Self.patient) { server in
                var owner = try server.firstOperator()
                var crowd = Visitor(server)
                let token = try crowd.token(on: "/dashboard/login")
                let connections = try (0..<160).map { number in
                    crowd.address = "192.0.2.\(number % 16)"
                    let connection = try server.connect()
                    try connection.send(
                        crowd.request(
                            "POST", "/dashboard/login",
                            [("csrf", token), ("email", "nobody\(number)@example.org"), ("password", "wrong horse")]))
                    return connection
                }
                // Whoever is known waits for the derivation that runs, and one of three lets a stranger pass. Of 32 that is few.
                let known = try Self.logins(&owner, 3, server)
                #expect(known.statuses == [303, 303, 303])
                #expect(known.passed <= 8, "\(known.passed) strangers were served before")
                // Whoever is not waits with the strangers: for 32 at most, and the one that runs.
                var away = Visitor(server, at: "203.0.113.7")
                let unknown = try Self.logins(&away, 1, server)
                #expect(unknown.statuses == [303] && unknown.passed <= 33, "\(unknown)")
                let statuses = connections.map { $0.answer()?.status ?? 0 }
                // One is derived and of each address two wait; the rest exceeds its address's share. Some may be done before the last come.
                #expect(statuses.allSatisfy { [401, 429].contains($0) }, "\(statuses)")
                #expect((33...48).contains(statuses.count { $0 == 401 }), "\(statuses)")
            }
        }

        @Test(arguments: Bounds.engines(turn: 1))
        func `Carma's guessers slow no operator, and learn of no user`(engine: Engine) async throws {
            try await TestServer.with(engine, Self.patient) { server in
                var owner = try server.firstOperator()
                let made = try server.send(
                    "POST", "/admin/v1/carma/accounts",
                    #"{"customer_id":42,"user":"anna","password":"correct horse"}"#, as: server.asOperator)
                #expect(made.status == 201)
                func request(_ user: String, _ number: Int) -> String {
                    let basic = "Basic " + Data("\(user):guess \(number)".utf8).base64EncodedString()
                    return HTTPText.request(
                        "GET", "/rest/42/apps/a/pushdevices/b", nil, as: basic,
                        ["X-Forwarded-For: 198.51.100.\(number)"])
                }
                func cost(_ user: String, _ numbers: Range<Int>) throws -> (cpu: Duration, texts: Set<String>) {
                    var texts: Set<String> = []
                    let cpu = try server.process.cpu(of: {
                        for number in numbers {
                            let connection = try server.connect()
                            try connection.send(request(user, number))
                            let answer = try #require(connection.answer())
                            texts.insert("\(answer.status) \(answer.text)")
                        }
                    })
                    return (cpu, texts)
                }
                let (known, unknown) = (try cost("anna", 0..<4), try cost("bob", 10..<14))
                #expect(known.texts == unknown.texts && known.texts.count == 1, "\(known.texts) \(unknown.texts)")
                #expect(known.cpu < unknown.cpu * 2 && unknown.cpu < known.cpu * 2, "\(known.cpu), \(unknown.cpu)")
                let connections = try (20..<120).map { number in
                    let connection = try server.connect()
                    try connection.send(request("carl\(number)", number))
                    return connection
                }
                // Theirs is another queue: not even a stranger of the dashboard's waits for one of them.
                #expect(try Self.logins(&owner, 3, server).statuses == [303, 303, 303])
                var away = Visitor(server, at: "203.0.113.7")
                #expect(try Self.logins(&away, 1, server).statuses == [303])
                let statuses = connections.map { $0.answer()?.status ?? 0 }
                #expect(statuses.allSatisfy { [401, 503].contains($0) }, "\(statuses)")
                // 32 wait, and one runs; as many more as were done before the last one came.
                #expect(statuses.count { $0 == 401 } >= 33, "\(statuses)")
            }
        }

        /// Names that are not this server's, some of which begin with one that is.
        private static let strangers = [
            "evil.example", "evil.example:443", "127.0.0.1.evil.example", "localhost@evil.example",
            "localhost:80@evil.example", "evil.example/.localhost", "[::1]@evil.example",
            "push.example.org.evil.example",
        ]

        @Test func `no link begins with a caller's made-up host`() async throws {
            try await TestServer.with(.sqlite) { server in
                var owner = try server.firstOperator()
                for host in Self.strangers {
                    owner.host = host
                    let token = try owner.token(on: "/dashboard/admin/people")
                    let page = try owner.post(
                        "/dashboard/admin/people",
                        [("csrf", token), ("email", "new@example.org"), ("scope", "operator"), ("bounds", "")])
                    #expect(page.status == 200 && page.text.contains("/dashboard/setup?token="), "\(page.status)")
                    #expect(!page.text.contains("evil.example"), "\(host)")
                    #expect(page.text.contains("http://127.0.0.1:\(server.port)"), "\(host)")
                }
            }
        }

        @Test func `pages and admin API refuse foreign hosts`() async throws {
            let settings = [
                "dashboard.public.url": "https://push.example.org", "http.hosts": "belfry.internal, belfry",
            ]
            try await TestServer.with(.sqlite, settings) { server in
                var owner = try server.firstOperator()
                let application = try server.application()
                func status(_ path: String, _ host: String) throws -> Int {
                    let connection = try server.connect()
                    try connection.send(
                        "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nAuthorization: \(server.asOperator)\r\n\r\n")
                    return connection.answer()?.status ?? 0
                }
                for host in Self.strangers + ["192.0.2.7", ""] {
                    owner.host = host
                    for path in ["", "/login", "/admin/people", "/assets/style.css", "/nothing"] {
                        let page = try owner.get("/dashboard\(path)")
                        #expect(page.status == 421, "\(host) \(path)")
                        #expect(page.text.contains("push.example.org"), "\(page.text)")
                    }
                    #expect(try owner.post("/dashboard/login", [("email", Self.email)]).status == 421, "\(host)")
                    #expect(try status("/admin/v1/apps/\(application.uuid)", host) == 421, "\(host)")
                    // The paths of devices, senders and monitors are found by any name.
                    for path in [
                        "/healthcheck", "/health/live", "/v1/version", "/openapi.yaml", "/sdk/web/v1/integrity.json",
                    ] {
                        #expect(try status(path, host) == 200, "\(host) \(path)")
                    }
                    #expect(try status("/v1/push", host) == 405, "\(host)")
                }
                for host in [
                    "push.example.org", "PUSH.example.org.", "push.example.org:8443", "belfry.internal", "localhost:1",
                    "127.0.0.1", "[::1]:80",
                ] {
                    owner.host = host
                    #expect(try owner.get("/dashboard/admin/people").status == 200, "\(host)")
                    #expect(try status("/admin/v1/apps/\(application.uuid)", host) == 200, "\(host)")
                }
            }
        }

        @Test(arguments: Bounds.engines(turn: 10))
        func `a tenant's invitations end at a limit, and hide nobody's`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                var owner = try server.firstOperator()
                let application = try server.application()
                func invite(_ visitor: inout Visitor, _ token: String, _ email: String, _ role: (String, String)) throws
                    -> HTTPAnswer
                {
                    try visitor.post(
                        "/dashboard/admin/people",
                        [("csrf", token), ("email", email), ("scope", role.0), ("bounds", role.1)])
                }
                let tenant = ("tenant-admin", "tenant:\(application.tenant)")
                let mine = try owner.token(on: "/dashboard/admin/people")
                let first = try invite(&owner, mine, "early@example.org", ("operator", ""))
                #expect(first.status == 200)
                let link = try invite(&owner, mine, "admin@shop.example", tenant)
                var admin = Visitor(server)
                try server.accept(
                    String(try #require(link.text.firstMatch(of: /token=([0-9a-f]{64})/)?.1)), as: &admin,
                    "admin@shop.example")
                let theirs = try admin.token(on: "/dashboard/admin/people")
                let statuses = try (0..<520).map { try invite(&admin, theirs, "a\($0)@shop.example", tenant).status }
                #expect(statuses.count { $0 == 200 } == RowLimit.invitations.most, "\(Set(statuses))")
                #expect(Set(statuses) == [200, 422], "\(Set(statuses))")
                // What is not on the first page is on a later one.
                var (path, pages) = ("/dashboard/admin/people", 0)
                while pages < 10 {
                    let page = try owner.get(path)
                    if page.text.contains("early@example.org") { break }
                    guard let before = page.text.firstMatch(of: #/href="[^"]*before=([0-9]+)/#)?.1 else { break }
                    path = "/dashboard/admin/people?before=\(before)"
                    pages += 1
                }
                #expect(try owner.get(path).text.contains("early@example.org"), "\(pages) pages")
                #expect(try admin.get("/dashboard/admin/people").text.contains("early@example.org") == false)
            }
        }
    }
}
