import Foundation
import Testing

/// A tenant that has nothing to do with an attack, beside each of them.
extension HostileTests {
    @Suite struct BystanderTests {
        enum Attack: String, CaseIterable, Sendable {
            case keyFiles, mediators, codes, passwords, names, lists, postedLists, invitations, batches, hosts

            fileprivate func run(_ attackers: Attackers) async throws {
                switch self {
                case .keyFiles: try await attackers.openKeyFiles()
                case .mediators: try await attackers.callMediators()
                case .codes: try attackers.guessCodes()
                case .passwords: try attackers.guessPasswords()
                case .names: try await attackers.nameSilentHosts()
                case .lists: try await attackers.bringLists()
                case .postedLists: try attackers.postList()
                case .invitations: try attackers.invite()
                case .batches: try await attackers.writeBatches()
                case .hosts: try await attackers.nameForeignHosts()
                }
            }
        }

        /// Registers devices and sends pushes; most of the time goes to the disk, quiet or not.
        private static func asking(_ bystander: Bystander) -> @Sendable (Int, Int) -> String {
            { caller, number in
                guard number.isMultiple(of: 4) else {
                    return HTTPText.request(
                        "POST", "/v1/registration", #"{"registration_token":"t\#(caller)x\#(number % 50)"}"#,
                        as: bystander.platform.device)
                }
                return HTTPText.request(
                    "POST", "/v1/push", #"{"message":{"body":"x"},"target":{"devices":["\#(UUID())"]}}"#,
                    as: bystander.application.backEnd)
            }
        }

        private static let cases = Attack.allCases.enumerated().flatMap { number, attack in
            Bounds.engines(turn: number).map { (engine: $0, attack: attack) }
        }

        @Test(arguments: cases)
        func `a bystander is served as on a quiet day`(engine: Engine, attack: Attack) async throws {
            let names = try NameServer { _, _ in nil }
            let settings = [
                "http.trusted.proxies": "127.0.0.0/8", "providers.dns.servers": names.address,
                "limit.browsers.per.second": "0", "limit.admin.per.second": "0", "http.request.seconds": "300",
                "dashboard.public.url": "https://push.example.org", "http.hosts": "belfry",
            ]
            try await TestServer.with(engine, settings) { server in
                let bystander = try Bystander(server)
                let attackers = try Attackers(server)
                let asking = Self.asking(bystander)
                let quiet = try await Neighbours.beside(server, least: 200, asking: asking) {}.neighbours
                let busy = try await Neighbours.beside(server, least: 10, asking: asking) {
                    try await attack.run(attackers)
                }.neighbours
                #expect(quiet.refused.isEmpty && busy.refused.isEmpty, "\(busy.refused), quiet \(quiet.refused)")
                if Bounds.judgesTimes {
                    #expect(busy.p99 <= Bounds.bystanderWait(quiet.p99), "\(busy.p99), quiet \(quiet.p99)")
                }
            }
        }

        private struct Bystander: Sendable {
            let application: TestApplication
            let platform: TestPlatform

            init(_ server: TestServer) throws {
                application = try server.application("Bystander")
                platform = try server.platform(of: application, .android)
            }
        }

        /// A tenant with all its rights, and unknown callers.
        fileprivate struct Attackers: Sendable {
            let server: TestServer
            let application: TestApplication
            let platform: TestPlatform
            let door: WebDoor
            /// The key of the application's admin.
            let key: String
            /// The tenant's admin, at the dashboard.
            let admin: Visitor
            let owner: Visitor

            init(_ server: TestServer) throws {
                self.server = server
                application = try server.application("Thief")
                platform = try server.platform(of: application, .android)
                door = try WebDoor(server, of: application)
                key = try server.adminKey(of: application)
                var owner = try server.firstOperator()
                var admin = Visitor(server)
                let link = try owner.post(
                    "/dashboard/admin/people",
                    [
                        ("csrf", try owner.token(on: "/dashboard/admin/people")), ("email", "admin@shop.example"),
                        ("scope", "tenant-admin"), ("bounds", "tenant:\(application.tenant)"),
                    ])
                try server.accept(
                    String(try #require(link.text.firstMatch(of: /token=([0-9a-f]{64})/)?.1)), as: &admin,
                    "admin@shop.example")
                (self.owner, self.admin) = (owner, admin)
            }

            /// Sends as many at once as a caller can.
            private func together(
                _ count: Int, _ send: @escaping @Sendable (Int) throws -> Int
            ) async throws -> [Int: Int] {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<count { group.addTask { try send(number) } }
                    return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
                }
            }

            func openKeyFiles() async throws {
                let body = KeyCostTests.platform(try HostileP12.sound(iterations: 700_000))
                let path = "/admin/v1/apps/\(application.uuid)/platforms"
                let statuses = try await together(Bounds.size(12)) { _ in
                    try server.send("POST", path, body, as: key).status
                }
                #expect(Set(statuses.keys).isSubset(of: [201, 429]), "\(statuses)")
            }

            func callMediators() async throws {
                let made = try server.send(
                    "POST", "/admin/v1/apps/\(application.uuid)/acrobits/mediator", #"{"allowed":["0.0.0.0/0"]}"#,
                    as: key)
                let path = try #require((made["paths"] as? [String])?.first, "\(made.text)")
                let call = #"{"verb":"NotifyTextMessage","AppId":"none","Selector":"S","DeviceToken":"abc"}"#
                let statuses = try await together(16) { _ in
                    for _ in 0..<50 { _ = try server.send("POST", path, call) }
                    return try server.send("POST", path, call).status
                }
                #expect(statuses.keys.allSatisfy { $0 < 500 }, "\(statuses)")
            }

            func guessCodes() throws {
                var owner = owner
                _ = try LoginTests.turnOn(&owner)
                var thief = Visitor(server, at: "192.0.2.1")
                let asked = try thief.login("ops@example.org", TestServer.password)
                let (proof, token) = (try LoginTests.proof(asked), try Visitor.token(in: asked))
                let statuses = try server.released(
                    (0..<250).map { number in
                        thief.address = "198.51.100.\(number)"
                        return thief.request(
                            "POST", "/dashboard/login",
                            [("csrf", token), ("proof", proof), ("code", "12345\(number % 10)")])
                    })
                #expect(Set(statuses.keys).isSubset(of: [401, 429]), "\(statuses)")
            }

            func guessPasswords() throws {
                var crowd = Visitor(server)
                let token = try crowd.token(on: "/dashboard/login")
                // Derivations take turns: of twenty the last was not reached in 300 s on a machine that compiled beside.
                let statuses = try server.released(
                    (0..<Bounds.size(8)).map { number in
                        crowd.address = "192.0.2.\(number)"
                        return crowd.request(
                            "POST", "/dashboard/login",
                            [("csrf", token), ("email", "nobody\(number)@example.org"), ("password", "wrong horse")])
                    })
                #expect(Set(statuses.keys).isSubset(of: [401, 429, 503]), "\(statuses)")
            }

            func nameSilentHosts() async throws {
                let statuses = try await together(30) { try door.register("n\($0).hangs.example.com", server).status }
                #expect(statuses == [503: 30], "\(statuses)")
            }

            func bringLists() async throws {
                let path = "/admin/v1/apps/\(application.uuid)/imports?format=csv&dry_run=true"
                let list = "registration_token\n" + String(repeating: "a\n", count: Bounds.size(1 << 15))
                let statuses = try await together(Bounds.size(6)) { _ in
                    try server.send("POST", path, list, as: key).status
                }
                #expect(statuses.keys.allSatisfy { $0 < 500 }, "\(statuses)")
            }

            func postList() throws {
                var admin = admin
                let path = "/dashboard/apps/\(application.uuid)/import"
                let fields = [("csrf", try admin.token(on: path)), ("format", "csv"), ("dry_run", "on")]
                let answer = try admin.upload(
                    path, fields,
                    ("list", "registration_token\n" + String(repeating: "a\n", count: Bounds.size(1 << 16))))
                #expect(answer.status == 200, "\(answer.status)")
            }

            func invite() throws {
                var admin = admin
                let token = try admin.token(on: "/dashboard/admin/people")
                for number in 0..<Bounds.size(510) {
                    let answer = try admin.post(
                        "/dashboard/admin/people",
                        [
                            ("csrf", token), ("email", "a\(number)@shop.example"), ("scope", "tenant-admin"),
                            ("bounds", "tenant:\(application.tenant)"),
                        ])
                    #expect([200, 422].contains(answer.status), "\(answer.status)")
                }
                for _ in 0..<20 { _ = try admin.get("/dashboard/admin/people") }
            }

            func writeBatches() async throws {
                let names = (0..<1_024).map { #"{"name":"n\#($0)"}"# }.joined(separator: ",")
                let statuses = try await together(Bounds.size(16)) { _ in
                    var last = 0
                    for _ in 0..<4 {
                        last = try server.send(
                            "POST", "/v2/topics/batch", #"{"topics":[\#(names)]}"#, as: application.backEnd
                        )
                        .status
                    }
                    return last
                }
                #expect(statuses.keys.allSatisfy { $0 < 500 }, "\(statuses)")
            }

            func nameForeignHosts() async throws {
                var stranger = Visitor(server)
                stranger.host = "evil.example"
                let request = stranger.request("GET", "/dashboard/login")
                let statuses = try await together(16) { _ in
                    let connection = try server.connect()
                    var last = 0
                    for _ in 0..<100 {
                        try connection.send(request)
                        last = connection.answer()?.status ?? 0
                    }
                    return last
                }
                #expect(statuses == [421: 16], "\(statuses)")
            }
        }
    }
}
