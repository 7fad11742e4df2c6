import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Pages about the server and its tenants, for operators.
@Suite struct ServerPageTests {
    private static let pages = [
        "tenants", "settings", "settings?show=all", "database", "versions", "logs", "logs.jsonl", "nodes",
    ]

    @Test func `pages of the server are for operators alone`() async throws {
        let dashboard = try TestDashboard()
        let root = try await dashboard.browser("root@a.example")
        let admin = try await dashboard.browser("admin@a.example", .tenantAdmin, .tenant(Tenant.first))
        for page in Self.pages {
            #expect(try await root.get("/admin/\(page)").status == .ok, "\(page)")
            #expect(try await admin.get("/admin/\(page)").status == .forbidden, "\(page)")
        }
        let tenant = try #require(try await dashboard.store.tenant(Tenant.first))
        #expect(try await admin.get("/admin/tenants/\(tenant.uuid.lowercased)").status == .forbidden)
        #expect(!(try await admin.get("")).contains("/dashboard/admin/settings"))
        #expect(try await root.get("").contains("/dashboard/admin/settings"))
    }

    @Test func `a tenant is made, renamed, and deleted by typed name`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        #expect(try await browser.post("/admin/tenants", [("name", "")]).status == .unprocessableContent)
        let path = try await browser.post("/admin/tenants", [("name", "Dairy")]).location.replacing(
            "/dashboard", with: "")
        let tenant = try #require(try await dashboard.store.tenants(after: nil, limit: 9).first { $0.name == "Dairy" })
        let contents = try await TestContents(dashboard, text: "cheese", of: tenant.key)
        let page = try await browser.get(path)
        #expect(page.contains("Dairy") && page.contains("cheese") && page.contains("1 of 50,000,000"))
        #expect(try await browser.post(path, [("name", "Creamery")]).location.hasSuffix("?done=saved"))
        #expect(try await browser.get("/admin/tenants").contains("Creamery"))
        #expect(try await browser.post("\(path)/delete", [("confirm", "Dairy")]).contains("is not the name"))
        let full = try await browser.post("\(path)/delete", [("confirm", "Creamery")])
        #expect(full.status == .unprocessableContent)
        try await dashboard.store.delete(contents.application.key, force: true)
        #expect(try await browser.post("\(path)/delete", [("confirm", "Creamery")]).location.hasSuffix("?done=deleted"))
        #expect(try await dashboard.store.tenant(tenant.key) == nil)
        #expect(
            try await dashboard.store.auditLog().map(\.change.action).filter { $0.hasPrefix("tenant.") }
                == ["tenant.create", "tenant.rename", "tenant.delete"])
    }

    @Test func `settings show where they come from, and no secret`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let set = try await browser.get("/admin/settings")
        #expect(set.contains("http.port") && set.contains(">environment<") && set.contains("set, not shown"))
        #expect(!set.contains("http.host"))
        let all = try await browser.get("/admin/settings?show=all")
        #expect(all.contains("http.host") && all.contains("127.0.0.1") && all.contains(">default<"))
        #expect(!all.contains("hunter2"))
    }

    @Test func `the database page shows size, last backup and restore steps`() async throws {
        let now = Instant(milliseconds: 1_000_000_000_000)
        func page(_ engine: DatabaseReport.Engine, _ backup: BackupNote?) -> PageView {
            ServerPages.page(
                DatabaseReport(
                    engine: engine, size: DatabaseSize(bytes: 5 << 30, engineVersion: "3.46"),
                    file: "/data/belfry.sqlite",
                    keyRingFile: "/data/key-ring", freeBytes: 1_536 << 10, lastBackup: backup), at: now)
        }
        let dashboard = try TestDashboard()
        let shell = Shell()
        func html(_ page: PageView) throws -> String { shell.render(page).text }
        let fresh = try html(page(.sqlite, BackupNote(at: now, folder: "/backups/today")))
        #expect(fresh.contains("SQLite 3.46") && fresh.contains("5.0 GiB") && fresh.contains("1.5 MiB"))
        #expect(fresh.contains("/backups/today") && fresh.contains("belfry check --data-directory /data\n"))
        for command in ["backup --data-directory /data --to", "restore --data-directory /data --from FOLDER"] {
            #expect(fresh.contains("belfry \(command)"))
        }
        #expect(!fresh.contains("older than a week"))
        let old = try html(page(.sqlite, BackupNote(at: now + .seconds(-8 * 86_400), folder: "/b")))
        #expect(old.contains("older than a week"))
        #expect(try html(page(.sqlite, nil)).contains("none yet"))
        let postgres = try html(page(.postgres, nil))
        #expect(postgres.contains("pg_restore") && !postgres.contains("none yet"))
        let browser = try await dashboard.browser("root@a.example")
        #expect(try await browser.get("/admin/database").contains("SQLite"))
    }

    @Test func `every built-in package is listed with its version`() async throws {
        struct Resolved: Decodable {
            struct Pin: Decodable {
                struct State: Decodable { let version: String }
                let identity: String
                let state: State
            }
            let pins: [Pin]
        }
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Package.resolved")
        let resolved = try JSONDecoder().decode(Resolved.self, from: Data(contentsOf: file))
        // They make the documentation, and nothing of the program.
        let tools: Set = ["swift-docc-plugin", "swift-docc-symbolkit"]
        let pins = resolved.pins.filter { !tools.contains($0.identity) }.map { "\($0.identity) \($0.state.version)" }
        #expect(Dependency.packages.map { "\($0.name) \($0.version)" }.sorted() == pins.sorted())
        let browser = try await TestDashboard().browser("root@a.example")
        let page = try await browser.get("/admin/versions")
        #expect(page.contains("Belfry test") && page.contains("hummingbird") && page.contains("libnghttp2"))
    }

    @Test func `log lines filter by level and text, and can pause`() async throws {
        let browser = try await TestDashboard().browser("root@a.example")
        let all = try await browser.get("/admin/logs")
        #expect(all.contains("serving") && all.contains("platform is parked"))
        #expect(all.contains(#"data-live="reload""#))
        let (parked, serving) = (
            try #require(all.text.firstRange(of: "platform is parked")),
            try #require(all.text.firstRange(of: ">serving<"))
        )
        #expect(parked.lowerBound < serving.lowerBound)
        let errors = try await browser.get("/admin/logs?level=error&paused=yes")
        #expect(errors.contains("platform is parked") && !errors.contains(">serving<"))
        #expect(!errors.contains(#"data-live="reload""#) && errors.contains("Follow"))
        let found = try await browser.get("/admin/logs?q=ADDRESS:+127")
        #expect(!found.contains("platform is parked"))
        #expect(try await browser.get("/admin/logs?q=address%3D127").contains(">serving<"))
        let file = try await browser.get("/admin/logs.jsonl?level=info")
        #expect(file.headers[.contentDisposition]?.contains("belfry-log.jsonl") == true)
        let lines = file.text.split(separator: "\n")
        #expect(lines.count == 2)
        let line = try JSONValue(json: Array(lines[0].utf8), field: "line")
        #expect(line["message"] == .string("serving") && line["address"] == .string("127.0.0.1"))
        #expect(line["level"] == .string("info"))
    }

    // MARK: Two at once

    @Test func `saving over another's change is reported and overwrites nothing`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let (ann, bob) = (
            try await dashboard.browser("ann@a.example"), try await dashboard.browser("bob@a.example")
        )
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let platform = "\(app)/platforms/\(contents.platform.uuid.lowercased)"
        for (page, form) in [("\(app)/settings", "\(app)/settings"), (platform, platform)] {
            let seen = try #require(try await ann.get(page).seen(by: form))
            #expect(try await bob.get(page).seen(by: form) == seen)
            let fields = [("description", "text"), ("mode", "production")]
            let saved = try await bob.post(form, [("name", "Bob's"), ("seen", seen)] + fields)
            #expect(saved.location.contains("done=saved"))
            let told = try await ann.post(form, [("name", "Ann's"), ("seen", seen)] + fields)
            #expect(told.status == .unprocessableContent, "\(form)")
            #expect(told.contains("Somebody else has changed this") && told.contains("Name: \u{201c}Bob&#39;s\u{201d}"))
            #expect(told.contains("value=\"Ann&#39;s\""))
            #expect(try await ann.get(page).contains("Bob&#39;s"))
            let now = try #require(told.seen(by: form))
            #expect(now != seen)
            #expect(
                try await ann.post(form, [("name", "Ann's"), ("seen", now)] + fields).location.contains("done=saved"))
            #expect(try await bob.get(page).contains("Ann&#39;s"))
        }
    }

    @Test func `user profiles and web sites are guarded too`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("ann@a.example")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let page = try await browser.get("\(app)/users?id=dairy")
        let seen = try #require(page.seen(by: "\(app)/users/change"))
        let change = [("id", "dairy"), ("attributes", "{}"), ("seen", seen)]
        let first = try await browser.post("\(app)/users/change", change + [("language", "de")])
        #expect(first.status == .seeOther)
        let second = try await browser.post("\(app)/users/change", change + [("language", "fr")])
        #expect(second.status == .unprocessableContent && second.contains("Language: \u{201c}de\u{201d}"))
    }

    // MARK: What needs a person

    @Test func `a silent canary and a parked platform reach the overview`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("ann@a.example")
        let platform = Address.of(contents.application, "platforms", contents.platform.uuid.lowercased)
        let before = try await browser.get("")
        #expect(before.contains("action=\"\(platform)/resume\"") && !before.contains("No heartbeat"))
        _ = try await dashboard.store.register(
            try Registration(
                token: DeviceToken(bytes: [1, 2, 3]), about: .init(), customUserID: .keep,
                topics: .replace([HeartbeatPush.topic])), as: nil, on: contents.platform)
        try await dashboard.heartbeat(of: contents.device, on: contents.platform)
        #expect(!(try await browser.get("")).contains("No heartbeat"))
        dashboard.clock.advance(by: .seconds(360))
        for page in ["", "/apps/\(contents.application.uuid.lowercased)"] {
            let after = try await browser.get(page)
            #expect(after.contains("No heartbeat has come back for 6 minutes"), "\(page)")
            #expect(after.contains("action=\"\(platform)/test\""), "\(page)")
        }
        let reader = try await dashboard.browser("reader@a.example", .readOnly, .tenant(Tenant.first))
        let read = try await reader.get("")
        #expect(read.contains("No heartbeat") && !read.contains("action=\"\(platform)"))
    }

    // MARK: Pushes

    @Test func `pushes are found by text, state, urgency and day`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("ann@a.example")
        let pushes = PushService(store: dashboard.store)
        let request = PushRequest(
            content: Push.Content(body: "Fresh cheese"), target: try Target(topics: ["nobody"]), lane: .urgent)
        _ = try await pushes.send(request, for: contents.application.key)
        let path = "/apps/\(contents.application.uuid.lowercased)/pushes"
        let day = dashboard.clock.now.text.prefix(10)
        for (query, finds) in [
            ("q=CHEESE", true), ("q=milk", false), ("urgency=urgent", true), ("urgency=bulk", false),
            ("from=\(day)", true), ("until=\(day)", true), ("from=2999-01-01", false), ("state=cancelled", false),
        ] {
            #expect(try await browser.get("\(path)?\(query)").contains("Fresh cheese") == finds, "\(query)")
        }
        let running = try await browser.get("\(path)?state=running")
        #expect(running.contains(contents.push.receiptID.lowercased))
        #expect(try await browser.get("\(path)?until=soon").contains("it has to be a day"))
    }
}

extension TestPage {
    /// The digest in the form that posts there.
    func seen(by action: String) -> String? {
        guard let form = text.firstRange(of: "action=\"/dashboard\(action)\""),
            let name = text[form.upperBound...].firstRange(of: "name=\"seen\" value=\"")
        else { return nil }
        return String(text[name.upperBound...].prefix { $0 != "\"" })
    }
}

extension TestDashboard {
    /// A heartbeat that a device returns now.
    fileprivate func heartbeat(of device: Device, on platform: Platform) async throws {
        _ = try await store.record(
            [AnalyticsEvent(kind: .heartbeat, time: clock.now, device: device.uuid)], on: platform,
            lateMax: .seconds(86_400))
    }
}

@Suite struct LeakedPasswordsTests {
    private static let leaked = ["correct horse", "password123", "letmeinplease"]
    /// SHA-1 of these, as `sha1sum` tells them.
    private static let hashes = [
        "correct horse": "2F9E53523B62ABC141A2B4D6019D23CBA835DBD0",
        "password123": "CBFDAC6008F9CAB4083784CBD1874F76618D2A97",
    ]

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "leaked-\(UUID())").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test(arguments: ["\n", "\r\n"]) func `a plain list has whole lines`(end: String) throws {
        try withFile(Self.leaked.joined(separator: end)) { path in
            let list = try LeakedPasswords(path: path)
            for password in Self.leaked { #expect(try list.contains(password)) }
            for password in ["password12", "assword123", "", "PASSWORD123"] { #expect(try !list.contains(password)) }
        }
    }

    @Test(arguments: ["", ":251682"]) func `a hash list is read in either case, counts optional`(
        count: String
    ) throws {
        let hash = try #require(Self.hashes["password123"])
        let other = String(repeating: "0", count: 40)
        for hash in [hash, hash.lowercased()] {
            try withFile("\(other)\(count)\r\n\(hash)\(count)\r\n") { path in
                let list = try LeakedPasswords(path: path)
                #expect(try list.contains("password123"))
                #expect(try !list.contains("password124"))
            }
        }
    }

    @Test func `a long list of hashes is searched by halves`() throws {
        var random = SplitMix64(seed: 7)
        var lines = (0..<5_000).map { _ in
            (0..<5).map { _ in String(UInt32(truncatingIfNeeded: random.next()), radix: 16).leftPadded }.joined()
        }
        lines += Self.hashes.values
        let text = lines.map { $0.uppercased() }.sorted().map { "\($0):1" }.joined(separator: "\r\n") + "\r\n"
        try withFile(text) { path in
            let list = try LeakedPasswords(path: path, unsortedBytesMax: 0)
            for password in Self.hashes.keys { #expect(try list.contains(password)) }
            for number in 0..<200 { #expect(try !list.contains("not this \(number)")) }
        }
        // Unsorted, the halves lead astray: it is the search by halves that was tried.
        let reversed = text.split(separator: "\r\n").reversed().joined(separator: "\r\n")
        try withFile(reversed) { path in
            let list = try LeakedPasswords(path: path, unsortedBytesMax: 0)
            #expect(try Self.hashes.keys.contains { try !list.contains($0) })
            #expect(try LeakedPasswords(path: path).contains("password123"))
        }
    }

    @Test func `a leaked password is refused everywhere and marked`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "leaked-\(UUID())").path
        try Data("correct horse battery staple\n".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let passwords = UnleakedPasswords(ScryptPasswords(cost: .cheap), besides: try LeakedPasswords(path: path))
        let refusal = await #expect(throws: InvalidInput.self) {
            try await passwords.hash(try Password("correct horse battery staple"), for: .local)
        }
        #expect(refusal?.field == "password")
        let turnedAway = UnleakedPasswords(NoPasswords(), besides: try LeakedPasswords(path: path))
        await #expect(throws: StoreError.self, "nobody reads the list out of turn") {
            try await turnedAway.hash(try Password("correct horse battery staple"), for: .local)
        }
        let hash = try await passwords.hash(try Password("another horse battery"), for: .local)
        #expect(try await passwords.matches("another horse battery", hash, for: .local))
    }

    @Test func `a file that cannot be read is told`() {
        #expect(throws: InvalidInput.self) { try LeakedPasswords(path: "/nowhere/at/all") }
    }
}

extension String {
    /// Eight hex digits.
    fileprivate var leftPadded: String { String(repeating: "0", count: 8 - count) + self }
}
