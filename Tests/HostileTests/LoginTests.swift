import BelfryCore
import Crypto
import Foundation
import Testing

/// Guessers and crowds before the login: what they are told, and whom they hold up.
extension HostileTests {
    @Suite struct LoginTests {
        /// Failures in a row at one address that are not slowed, and one more.
        private static let guesses = 6

        /// Ten times what a log-in takes with nobody beside it; on a machine that is busy with other tests, a stall of seconds is none of ours.
        private static func patience(_ quiet: Duration) -> Duration { max(quiet * 10, .seconds(20)) }
        /// A proxy says who calls, so that one machine plays many.
        private static let proxied = ["http.trusted.proxies": "127.0.0.0/8"]
        private static let email = "ops@example.org"

        private static func code(_ secret: [UInt8], _ shift: Int64 = 0) -> String {
            let step = Int64(Date().timeIntervalSince1970) / OneTimeCode.stepSeconds + shift
            return OneTimeCode.code(of: secret, at: step) { key, message in
                Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: SymmetricKey(data: key)))
            }
        }

        /// Turns the second factor of somebody who is logged in on; its secret and a recovery code.
        private static func turnOn(_ visitor: inout Visitor) throws -> (secret: [UInt8], recovery: String) {
            let page = try visitor.get("/dashboard/account/two-factor")
            let text = String(try #require(page.text.firstMatch(of: /name="secret" value="([A-Z2-7]{32})"/)?.1))
            let secret = try #require(OneTimeCode.secret(base32: text))
            let on = try visitor.post(
                "/dashboard/account/two-factor",
                [
                    ("csrf", try Visitor.token(in: page)), ("secret", text), ("code", code(secret)),
                    ("password", TestServer.password),
                ])
            let codes = try #require(on.text.firstMatch(of: /<code>([a-z1-9\-\n]+)<\/code>/)?.1, "\(on.status)")
            return (secret, String(try #require(codes.split(separator: "\n").first)))
        }

        private static func proof(_ answer: HTTPAnswer) throws -> String {
            String(try #require(answer.text.firstMatch(of: /name="proof" value="([0-9a-f]+)"/)?.1, "\(answer.status)"))
        }

        @Test(arguments: Engine.allCases)
        func `of codes that are released together a few are checked`(engine: Engine) async throws {
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
                let statuses = try server.released(Array(requests))
                // Of the account ten from all addresses, and one more.
                #expect(statuses[401, default: 0] <= 11, "\(statuses)")
                #expect(statuses[401, default: 0] + statuses[429, default: 0] == 250, "\(statuses)")
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

        @Test(arguments: Engine.allCases)
        func `of passwords that are released together a few are checked`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                var owner = try server.firstOperator()
                var thief = Visitor(server)
                let token = try thief.token(on: "/dashboard/login")
                let statuses = try server.released(
                    (0..<250).map { number in
                        thief.request(
                            "POST", "/dashboard/login",
                            [("csrf", token), ("email", Self.email), ("password", "a guess, number \(number)")])
                    })
                #expect(statuses[401, default: 0] <= Self.guesses, "\(statuses)")
                // The same address, and a browser that it let in before.
                owner.forgetSession()
                #expect(try owner.login(Self.email, TestServer.password).status == 303)
                let keys = try server.released(
                    (0..<250).map { HTTPText.request("GET", "/admin/v1/apps", as: "Bearer bfy_0123456789abcdef_\($0)") }
                )
                #expect(keys[401, default: 0] + keys[429, default: 0] == 250, "\(keys)")
            }
        }

        @Test(arguments: Engine.allCases)
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
                    let statuses = try server.released(
                        (0..<250).map {
                            HTTPText.request(method, path, method == "GET" ? nil : "{}", as: basic(user, $0))
                        })
                    // The first waits, of 0.1 s and doubling, may end meanwhile; ten more take 100 s.
                    #expect(statuses[401, default: 0] <= Self.guesses + 10, "\(path): \(statuses)")
                    #expect(statuses[401, default: 0] + statuses[429, default: 0] == 250, "\(path): \(statuses)")
                }
            }
        }

        /// Logs in, again and again; how long the longest took beside the median of the quiet ones, and what was answered.
        private static func logins(_ visitor: inout Visitor, _ count: Int) throws -> (
            statuses: [Int], longest: Duration
        ) {
            var (statuses, longest) = ([Int](), Duration.zero)
            for _ in 0..<count {
                visitor.forgetSession()
                let token = try visitor.token(on: "/dashboard/login")
                let clock = ContinuousClock()
                let start = clock.now
                let fields = [("csrf", token), ("email", email), ("password", TestServer.password)]
                statuses.append(try visitor.post("/dashboard/login", fields).status)
                longest = max(longest, clock.now - start)
            }
            return (statuses, longest)
        }

        @Test(arguments: Engine.allCases)
        func `a crowd of made-up names holds no operator up`(engine: Engine) async throws {
            try await TestServer.with(engine, Self.proxied) { server in
                var owner = try server.firstOperator()
                let quiet = try Self.logins(&owner, 3)
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
                let known = try Self.logins(&owner, 3)
                #expect(known.statuses == [303, 303, 303])
                #expect(known.longest <= Self.patience(quiet.longest), "\(known.longest), quiet \(quiet.longest)")
                // From an address and a browser that the server does not know.
                var away = Visitor(server, at: "203.0.113.7")
                // It waits for its turn among strangers, 32 at most.
                #expect(try Self.logins(&away, 1).statuses == [303])
                let statuses = connections.compactMap { $0.answer()?.status }
                #expect(statuses.contains(503), "\(statuses)")
            }
        }

        @Test(arguments: Engine.allCases)
        func `Carma's guessers slow no operator, and learn of no user`(engine: Engine) async throws {
            try await TestServer.with(engine, Self.proxied) { server in
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
                let quiet = try Self.logins(&owner, 3)
                let connections = try (20..<120).map { number in
                    let connection = try server.connect()
                    try connection.send(request("carl\(number)", number))
                    return connection
                }
                let busy = try Self.logins(&owner, 3)
                #expect(busy.statuses == [303, 303, 303])
                #expect(busy.longest <= Self.patience(quiet.longest), "\(busy.longest), quiet \(quiet.longest)")
                // Those whose turn is late have no answer yet.
                let statuses = connections.compactMap { $0.answer()?.status }
                #expect(!statuses.isEmpty && statuses.allSatisfy { [401, 429, 503].contains($0) }, "\(statuses)")
            }
        }

        @Test(arguments: [nil, "https://push.example.org"] as [String?])
        func `no link begins with a caller's made-up host`(publicURL: String?) async throws {
            let settings = publicURL.map { ["dashboard.public.url": $0] } ?? [:]
            try await TestServer.with(.sqlite, settings) { server in
                var owner = try server.firstOperator()
                for host in ["evil.example", "evil.example:443", "127.0.0.1.evil.example", "localhost@evil.example"] {
                    owner.host = host
                    let token = try owner.token(on: "/dashboard/admin/people")
                    let page = try owner.post(
                        "/dashboard/admin/people",
                        [("csrf", token), ("email", "new@example.org"), ("scope", "operator"), ("bounds", "")])
                    #expect(page.status == 200 && page.text.contains("/dashboard/setup?token="), "\(page.status)")
                    #expect(!page.text.contains("evil.example"), "\(host)")
                    #expect(page.text.contains(publicURL ?? "http://127.0.0.1:\(server.port)"), "\(host)")
                }
            }
        }

        @Test(arguments: Engine.allCases)
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
                    guard let before = page.text.firstMatch(of: /before=([0-9]+)/)?.1 else { break }
                    path = "/dashboard/admin/people?before=\(before)"
                    pages += 1
                }
                #expect(try owner.get(path).text.contains("early@example.org"), "\(pages) pages")
                #expect(try admin.get("/dashboard/admin/people").text.contains("early@example.org") == false)
            }
        }
    }
}
