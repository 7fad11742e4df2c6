import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Pages as people use them: from one form to the next.
@Suite struct PageTests {
    @Test func `an application is made, and its secrets are shown once`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        #expect(try await browser.get("").contains("Welcome to Belfry"))
        let refused = try await browser.post("/apps/new", [("name", ""), ("description", "kept text")])
        #expect(refused.status == .unprocessableContent && refused.contains("has to be 1 to 255 bytes"))
        #expect(refused.contains("kept text") && refused.contains("aria-invalid"))
        let made = try await browser.post("/apps/new", [("name", "Dairy"), ("description", "")])
        let application = try #require(try await dashboard.store.applications().first)
        #expect(made.status == .ok && application.name == "Dairy")
        let key = try #require(made.text.firstMatch(of: /API key<\/dt><dd><code>([0-9a-f-]{36})/)?.1)
        let settings = try await browser.get("/apps/\(application.uuid.lowercased)/settings")
        #expect(settings.status == .ok && !settings.contains(String(key)))
        #expect(try await dashboard.store.auditLog().last?.change.keyID == "root@a.example")
    }

    @Test func `the server takes the commands of the set-up page`() throws {
        let application = Application(
            key: Key(1), uuid: UUID(), name: "A", apiKeyHash: [], sharedSecret: Sealed(bytes: []), createdAt: .zero)
        let platform = Platform(
            key: Key(1), uuid: UUID(), applicationKey: Key(1), kind: .ios, mode: .production, name: "p", secretHash: [],
            credentials: Sealed(bytes: []), credentialsVersion: 1, parked: nil, createdAt: .zero)
        let page = ApplicationPages.setup(
            application, [platform], devices: 0, hasPushes: false, url: "https://push.example.org"
        ) { _ in true }
        let codes = page.sections.flatMap { $0.parts(of: Code.self) }
        let bodies = codes.compactMap { $0.text.firstMatch(of: /-d '(.*)'/)?.1 }
        #expect(bodies.count == 2)
        #expect(throws: Never.self) { try PCF.RegistrationRequest.parse(Array(bodies[0].utf8)) }
        let push = try PCF.PushBody.parse(Array(bodies[1].utf8))
        #expect(push.target == .everyone && push.content?.shared.title == "Hello")
    }

    @Test func `a page escapes texts, and puts its path before addresses`() {
        var shell = Shell()
        shell.path = PublicPath(of: "https://push.example.org/push")
        var page = HTMLWriter(shell)
        page.write([
            Tag(
                "a", ["href": "/a?b=\"&c", "title": "/a", "rel": String?.none, "hidden": true, "download": false],
                "</a>"),
            Tag("img", ["src": "//x"]), Form.button("/b", "It's"),
        ])
        #expect(
            page.text == #"<a href="/push/a?b=&quot;&amp;c" title="/a" hidden>&lt;/a&gt;</a><img src="//x">"#
                + #"<form class="form inline" action="/push/b" method="post" novalidate>"#
                + #"<input type="hidden" name="csrf" value=""><p class="problem" role="alert"></p>"#
                + #"<div class="row"><button>It&#39;s</button></div></form>"#)
    }

    @Test func `a deletion demands the name`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "Dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let wrong = try await browser.post("\(path)/settings/delete", [("confirm", "dairy")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("has to be the name: Dairy"))
        #expect(try await dashboard.store.applications().count == 1)
        #expect(try await browser.post("\(path)/settings/delete", [("confirm", "Dairy")]).location == "/dashboard/apps")
        #expect(try await dashboard.store.applications().isEmpty)
    }

    @Test(arguments: [
        ("Dairy  shop", "Dairy shop"), ("Two\nlines", "Two lines"), (" Dairy\u{200B}", "Dairy"), ("e\u{301}", "é"),
        ("\u{200B}", "\u{200B}"),
    ])
    func `a name is confirmed as a page shows it`(name: String, typed: String) {
        var form = FormData()
        #expect(!form.confirms(name))
        form.put("confirm", typed)
        #expect(form.confirms(name) && !form.confirms("another"))
    }

    @Test func `names with odd blanks can be confirmed`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let author = TestDashboard.author
        let tenant = try await dashboard.admin.createTenant(name: Name("Milk\u{A0} \nGmbH"), by: author)
        let gone = try await browser.post(
            "/admin/tenants/\(tenant.uuid.lowercased)/delete", [("confirm", "Milk GmbH")])
        #expect(gone.status == .seeOther)
        let application = try await dashboard.admin.createApplication(
            name: Name("Dairy  shop"), description: Description(""), of: Tenant.first, by: author
        ).application
        let path = "/apps/\(application.uuid.lowercased)/settings/delete"
        #expect(try await browser.post(path, [("confirm", "Dairy shop")]).location == "/dashboard/apps")
    }

    @Test func `an application goes to no other tenant than chosen`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let fields = [("name", "Dairy"), ("description", "")]
        for tenant in [UUID().lowercased, "none"] {
            let refused = try await browser.post("/apps/new", fields + [("tenant", tenant)])
            #expect(refused.status == .unprocessableContent && refused.contains("does not exist any more"))
        }
        #expect(try await dashboard.store.applications().isEmpty)
        var last: Tenant?
        for number in 1...Role.tenantsMax {
            last = try await dashboard.admin.createTenant(name: Name("t\(number)"), by: TestDashboard.author)
        }
        let tenant = try #require(last)
        let form = try await browser.get("/apps/new")
        #expect(form.contains("Its UUID, which its page shows. Empty: default.") && !form.contains("<select"))
        #expect(try await browser.get("/admin/keys").contains("The list is cut"))
        #expect(try await browser.post("/apps/new", fields + [("tenant", tenant.uuid.lowercased)]).status == .ok)
        #expect(try await dashboard.store.applications().map(\.tenantKey) == [tenant.key])
    }

    @Test func `no number in a query or form ends the server`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "Dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        #expect(try await browser.get("/apps?key=\(Int.max)").status == .ok)
        #expect(try await browser.get("\(path)/places?page=\(Int.max)").status == .ok)
        let fields = [("body", "b"), ("audience", "everyone"), ("action", "send"), ("reviewed", "\(Int.max)")]
        #expect(try await browser.post("\(path)/compose", fields).contains("Send it to"))
    }

    @Test func `pushes are found by what they say`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let said = [("title", "Spring sale"), ("body", "Say \"cheese\""), ("audience", "everyone")]
        _ = try await browser.post("\(path)/compose", said + [("action", "send"), ("reviewed", "1")])
        for (text, isFound) in [("spring", true), ("%22cheese%22", true), ("audience", false), ("body", false)] {
            let page = try await browser.get("\(path)/pushes?q=\(text)")
            #expect(page.contains("Say &quot;cheese&quot;") == isFound, "\(text)")
        }
    }

    @Test func `a push is reviewed with its audience before sending`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/compose"
        let before = try await dashboard.store.allPushes().count
        let fields = [("body", "Fresh milk"), ("title", "Today"), ("audience", "topics"), ("names", "dairy, butter")]
        let review = try await browser.post(path, fields)
        #expect(review.contains("1 device") && review.contains("Send it to 1 device"))
        #expect(review.contains("of 4,096 bytes") && review.contains("Fresh milk"))
        #expect(try await browser.post(path, fields + [("action", "send")]).status == .ok, "not reviewed")
        #expect(try await dashboard.store.allPushes().count == before)
        let sent = try await browser.post(path, fields + [("action", "send"), ("reviewed", "1")])
        #expect(sent.status == .seeOther && sent.location.hasSuffix("?done=sent"))
        let push = try #require(try await dashboard.store.allPushes().last)
        #expect(push.content.body == "Fresh milk")
        #expect(try await browser.get(String(sent.location.dropFirst("/dashboard".count))).contains("Fresh milk"))
    }

    private static let wrongPushes: [(fields: [(String, String)], words: String)] = [
        ([("audience", "everyone")], "is empty"), ([("body", "a"), ("audience", "topics")], "choose who gets it"),
        ([("body", "a"), ("audience", "devices"), ("names", "x")], "which is no device UUID"),
        ([("body", "a"), ("custom", "[1]")], "has to be an object"), ([("body", "a"), ("badge", "x")], "whole number"),
        ([("body", "a"), ("audience", "everyone"), ("send_at", "soon")], "has to be a time"),
        ([("body", "a"), ("audience", "everyone"), ("names", "news")], "the audience leaves it out"),
        ([("body", "a"), ("names", "news")], "the audience leaves it out"),
        ([("body", "a"), ("audience", "everyone"), ("also_users", "emma")], "the audience leaves it out"),
        (
            [("body", "a"), ("audience", "users"), ("names", "emma"), ("also_users", "José")],
            "the audience leaves it out"
        ),
        ([("body", "a"), ("audience", "devices"), ("names", "x"), ("also_users", "e")], "the audience leaves it out"),
    ]

    @Test(arguments: wrongPushes)
    func `a wrong push names its fault and keeps the form`(
        fields: [(String, String)], words: String
    ) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/compose"
        let page = try await browser.post(path, fields + [("collapse_key", "kept-key")])
        #expect(page.status == .unprocessableContent)
        #expect(page.contains(words) && page.contains("kept-key"))
    }

    @Test(arguments: [
        ("0026-01-31T08:30", "", "which is over"), ("2199-11-31T08:30", "", "its month has no such day"),
        ("2199-01-31T08:30", "2199-01-31T08:30", "no device would get the push"),
    ])
    func `a push at no time is offered to nobody`(sendAt: String, expiresAt: String, words: String) async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let fields = [("body", "a"), ("audience", "everyone"), ("send_at", sendAt), ("expires_at", expiresAt)]
        let page = try await browser.post("/apps/\(contents.application.uuid.lowercased)/compose", fields)
        #expect(page.status == .unprocessableContent && page.contains(words))
    }

    @Test func `a push for later becomes a cancellable schedule`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)"
        let fields = [
            ("body", "Later"), ("audience", "everyone"), ("send_at", "2199-01-31T08:30"), ("reviewed", "1"),
            ("action", "send"),
        ]
        #expect(try await browser.post("\(path)/compose", fields).location.contains("schedules?done=scheduled"))
        let schedule = try #require(
            try await dashboard.store.schedules(of: contents.application.key, after: nil, limit: 9).first {
                $0.pushRequest.content.body == "Later"
            })
        #expect(schedule.dueAt == Instant(text: "2199-01-31T08:30:00Z"))
        let list = try await browser.get("\(path)/schedules")
        #expect(list.contains("Later") && list.contains("2199-01-31 08:30<"))
        let question = try await browser.post("\(path)/schedules/\(schedule.key.id)/cancel")
        #expect(question.status == .ok && question.contains("1 device") && question.contains("It will never be sent"))
        #expect(try await dashboard.store.schedule(schedule.key, of: contents.application.key)?.ending == nil)
        _ = try await browser.post("\(path)/schedules/\(schedule.key.id)/cancel", [("confirmed", "yes")])
        #expect(try await browser.get("\(path)/schedules?state=ended").contains("cancelled"))
    }

    @Test func `a running push is cancelled after counting skipped devices`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/pushes/\(contents.push.receiptID.lowercased)"
        let lists = ["", "/pushes"].map { "/apps/\(contents.application.uuid.lowercased)\($0)" }
        for page in lists + [path] { #expect(try await browser.get(page).contains("Cancel the rest")) }
        let question = try await browser.get("\(path)/cancel")
        #expect(question.contains("Skip 1 device<") && question.contains("topics: dairy"))
        #expect(try await dashboard.store.number("SELECT count(*) FROM fan_out WHERE NOT is_cancelled") == 1)
        #expect(try await browser.post("\(path)/cancel").location.hasSuffix("?done=cancelled"))
        #expect(try await dashboard.store.number("SELECT count(*) FROM fan_out WHERE NOT is_cancelled") == 0)
        #expect(try await dashboard.store.auditLog().last?.change.action == "push.cancel")
        try await dashboard.store.resume(contents.platform.key)
        let fanOuts = try await dashboard.store.claimFanOuts(atMost: 1, lanes: Lane.allCases, for: .seconds(60))
        for fanOut in fanOuts {
            let devices = try await dashboard.store.devices(in: fanOut, after: nil, limit: 9)
            _ = try await dashboard.store.advance(FanOutStep(fanOut: fanOut, batches: [devices], isLast: true))
        }
        let done = try await browser.get(path)
        #expect(done.contains(">cancelled<") && done.contains("skipped: cancelled"))
        #expect(!done.contains("Cancel the rest"))
        for list in lists { #expect(!(try await browser.get(list)).contains("Cancel the rest")) }
        #expect(try await browser.get("\(path)/cancel").contains("Nothing is left to cancel"))
        #expect(try await browser.post("\(path)/cancel").location.hasSuffix("?done=late"))
        let reader = try await dashboard.browser("reader@a.example", .readOnly, .tenant(Tenant.first))
        #expect(try await reader.get("\(path)/cancel").status == .forbidden)
    }

    @Test func `pages lead nobody to what is refused`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let bounds = AdminKey.Bounds.application(contents.application.key, of: Tenant.first)
        for (scope, sends, changes) in [
            (AdminKey.Scope.readOnly, false, false), (.sender, true, false), (.appAdmin, true, true),
        ] {
            let browser = try await dashboard.browser("\(scope.rawValue)@a.example", scope, bounds)
            for path in ["templates", "templates/dairy", "setup", "pushes?q=nothing"] {
                let page = try await browser.get("\(app)/\(path)")
                #expect(page.status == .ok)
                #expect(page.contains("\(app)/compose") == sends, "\(scope) \(path)")
                #expect(page.contains("\(app)/import\"") == changes, "\(scope) \(path)")
            }
        }
    }

    @Test func `the next page of applications follows the last shown`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for number in 100...201 { _ = try await dashboard.store.create(.named("Shop \(number)")) }
        let first = try await browser.get("/apps")
        #expect(first.contains("Shop 199") && !first.contains("Shop 200"))
        let next = try #require(first.text.firstMatch(of: /href="\/dashboard(\/apps\?after=[^"]+)"/)?.1)
        let gone = try #require(try await dashboard.store.applications().first)
        try await dashboard.store.delete(gone.key, force: false)
        let second = try await browser.get(String(next).replacing("&amp;", with: "&"))
        #expect(second.contains("Shop 200") && second.contains("Shop 201") && !second.contains("Shop 199"))
    }

    @Test func `the overview names every parked platform`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        for number in 100...149 { _ = try await dashboard.store.create(.named("A \(number)")) }
        let before = try await browser.get("")
        #expect(!before.contains("The numbers are of the first"))
        let contents = try await TestContents(dashboard, text: "dairy")
        let page = try await browser.get("")
        #expect(page.contains("The numbers are of the first 50 of 51 applications."))
        #expect(page.contains("/platforms/\(contents.platform.uuid.lowercased)/resume"))
    }

    @Test func `devices are filtered by address; a wrong day is marked`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/apps/\(contents.application.uuid.lowercased)/devices"
        for query in [
            "user=dairy", "active=yes", "os_version=dairy", "seen_before=2999-01-01", "topic=dairy&active=yes",
        ] {
            let page = try await browser.get("\(path)?\(query)")
            #expect(page.contains("One device.") && page.contains(contents.device.uuid.lowercased), "\(query)")
        }
        for query in ["user=dair", "active=no", "os_version=17", "seen_from=2999-01-01", "unseen=yes"] {
            let page = try await browser.get("\(path)?\(query)")
            #expect(page.contains("0 devices.") && page.contains("No devices match"), "\(query)")
        }
        #expect(try await browser.get("\(path)?seen_from=soon").contains("it has to be a day such as 2026-01-31"))
    }

    @Test func `a device is erased once its UUID was typed`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let id = contents.device.uuid.lowercased
        let path = "/apps/\(contents.application.uuid.lowercased)/devices/\(id)"
        let refused = try await browser.post("\(path)/erase", [("confirm", String(id.prefix(7)))])
        #expect(refused.status == .unprocessableContent && refused.contains("are not the first characters"))
        let erased = try await browser.post("\(path)/erase", [("confirm", String(id.prefix(8)))])
        #expect(erased.location.hasSuffix("?done=erased"))
        #expect(try await browser.get(String(erased.location.dropFirst("/dashboard".count))).contains(">Erased.<"))
        #expect(try await dashboard.store.allDevices().first { $0.key == contents.device.key } == nil)
        #expect(try await dashboard.store.auditLog().last?.change.action == "device.erase")
    }

    @Test func `a platform is added by upload, a wrong form kept`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/dashboard/apps/\(contents.application.uuid.lowercased)/platforms/new"
        let parts = [
            ("csrf", "", FormToken.of(browser.session)), ("type", "", "ios"), ("name", "", "Phones"),
            ("mode", "", "development"), ("topic", "", "com.example.app"),
            ("apns_key", "; filename=\"a.p8\"", "-----BEGIN\r\n-edge\r\n--edg\r\nKEY-----"),
        ]
        let body =
            parts.map { "--edge\r\nContent-Disposition: form-data; name=\"\($0.0)\"\($0.1)\r\n\r\n\($0.2)\r\n" }
            .joined() + "--edge--\r\n"
        let headers: HTTPFields = [
            .cookie: "belfry_session=\(browser.session)", .contentType: "multipart/form-data; boundary=edge",
        ]
        let page = try await dashboard.send(.post, path, headers, body)
        #expect(page.status == .ok && page.contains("Platform secret"))
        let platform = try #require(
            try await dashboard.store.platforms(of: contents.application.key).first { $0.name == "Phones" })
        #expect(platform.mode == .development)
        let form = try FormData(multipart: Array(body.utf8), boundary: "edge")
        #expect(form.file("apns_key") == Array(parts[5].2.utf8)[...], "line ends and dashes are kept")
    }

    @Test(arguments: [true, false])
    func `a web platform lists allowed sites and links to tests`(
        isBesideAPI: Bool
    ) async throws {
        let dashboard = try TestDashboard(hasTestPage: isBesideAPI)
        let browser = try await dashboard.browser("root@a.example")
        let application = try await TestContents(dashboard, text: "dairy").application
        let platform = try await dashboard.admin.createPlatform(
            of: application, kind: .web, mode: nil, name: try Name("Browsers"), description: try Description(""),
            credentials: ["topic": .string("x")], by: TestDashboard.author
        ).platform
        let path = "/apps/\(application.uuid.lowercased)/platforms/\(platform.uuid.lowercased)"
        let before = try await browser.get(path)
        #expect(before.contains("No site may register browsers yet") && !before.contains("/sdk/web/v1/test"))
        let wrong = try await browser.post("\(path)/web", [("origins", "shop.example")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("shop.example"))
        let sites = [("origins", "https://shop.example\r\nhttps://www.shop.example"), ("proof", "yes")]
        #expect(try await browser.post("\(path)/web", sites).location.hasSuffix("?done=saved"))
        let access = try #require(try await dashboard.store.platform(platform.uuid)?.webAccess)
        #expect(access.origins.map(\.text) == ["https://shop.example", "https://www.shop.example"])
        #expect(access.provesRegistrations)
        let page = try await browser.get(path)
        #expect(page.contains("https://shop.example\nhttps://www.shop.example"))
        #expect(page.contains("/sdk/web/v1/belfry-worker.js"))
        let bounds = AdminKey.Bounds.application(application.key, of: Tenant.first)
        let reader = try await dashboard.browser("reader@a.example", .readOnly, bounds)
        #expect(try await reader.get(path).contains("https://shop.example https://www.shop.example"))
        #expect(page.contains("href=\"/sdk/web/v1/test#\(access.key.text)\"") == isBesideAPI)
        #expect(page.contains("/sdk/web/v1/test#\(access.key.text)"))
        // A box that is not ticked is not sent.
        _ = try await browser.post("\(path)/web", [("origins", "https://shop.example")])
        #expect(try await dashboard.store.platform(platform.uuid)?.webAccess?.provesRegistrations == false)
    }

    @Test(arguments: ["", "--edge", "--edge\r\n", "--edge\r\n\r\n", "--edge--", String(repeating: "-", count: 4_096)])
    func `a broken upload is refused`(body: String) throws {
        let form = try? FormData(multipart: Array(body.utf8), boundary: "edge")
        #expect(form == nil || form?.raw("csrf") == "")
    }

    @Test func `a text of a form has its own line ends`() throws {
        let part = "--edge\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--edge--\r\n"
        #expect(try FormData(urlEncoded: "a=1%0D%0A2").raw("a") == "1\n2")
        #expect(try FormData(multipart: Array(part.utf8), boundary: "edge").raw("a") == "1\n2")
    }

    @Test func `a form with very many fields is refused`() throws {
        let many = String(repeating: "a=&", count: 1_000_000)
        #expect(throws: InvalidInput.self) { try FormData(urlEncoded: many) }
        let part = "--edge\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"\r\n\r\nx\r\n"
        let parts = Array((String(repeating: part, count: FormData.fieldsMax + 1) + "--edge--").utf8)
        #expect(throws: InvalidInput.self) { try FormData(multipart: parts, boundary: "edge") }
        #expect(try FormData(urlEncoded: String(repeating: "a=b&", count: FormData.fieldsMax)).all("a").count == 512)
    }

    @Test func `an import shows its effect and happens on confirmation`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let contents = try await TestContents(dashboard, text: "dairy")
        let path = "/dashboard/apps/\(contents.application.uuid.lowercased)/import"
        func run(_ isDryRun: Bool) async throws -> TestPage {
            let token = String(repeating: "ab", count: 32)
            var parts = [("csrf", "", FormToken.of(browser.session)), ("format", "", "csv")]
            if isDryRun { parts.append(("dry_run", "", "yes")) }
            parts.append(
                ("list", "; filename=\"a.csv\"", "registration_token,device_alias\n\(token),Imported\nnot hex,b\n"))
            let body =
                parts.map { "--edge\r\nContent-Disposition: form-data; name=\"\($0.0)\"\($0.1)\r\n\r\n\($0.2)\r\n" }
                .joined() + "--edge--\r\n"
            let headers: HTTPFields = [
                .cookie: "belfry_session=\(browser.session)", .contentType: "multipart/form-data; boundary=edge",
            ]
            return try await dashboard.send(.post, path, headers, body)
        }
        let before = try await dashboard.store.deviceCount(on: contents.platform.key)
        #expect(try await run(true).contains("What the import would do"))
        #expect(try await dashboard.store.unseenDeviceCount(on: contents.platform.key) == 0)
        #expect(try await dashboard.store.deviceCount(on: contents.platform.key) == before)
        let done = try await run(false)
        #expect(done.contains("What the import did") && done.contains("Refused rows"))
        #expect(try await dashboard.store.deviceCount(on: contents.platform.key) == before + 1)
        #expect(try await run(true).contains("Known already"))
        let jobs = try await dashboard.store.importJobs(of: contents.application.key, after: nil, limit: 9)
        #expect(jobs.prefix(3).map(\.tally.duplicate) == [1, 0, 0] && jobs.prefix(3).map(\.tally.new) == [0, 1, 1])
        let page = try await browser.get("/apps/\(contents.application.uuid.lowercased)/import")
        #expect(page.contains("Earlier imports") && page.contains("/import/\(jobs[1].uuid.lowercased)"))
        let csv = try await browser.get(
            "/apps/\(contents.application.uuid.lowercased)/import/\(jobs[1].uuid.lowercased)")
        #expect(csv.headers[.contentDisposition]?.hasPrefix("attachment") == true)
        #expect(csv.text.split(separator: "\n").count == 3 && csv.contains(",new,") && csv.contains(",refused,"))
    }

    @Test func `a new password needs the old and ends other sessions`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let person = try #require(try await dashboard.store.person(EmailAddress("root@a.example")))
        let other = try await dashboard.people.begin(person, address: nil, agent: "other")
        let new = "another long password"
        let wrong = [("old", "not it at all"), ("password", new), ("again", new)]
        #expect(try await browser.post("/account/password", wrong).contains("is not your password"))
        let right = [("old", TestDashboard.password), ("password", new), ("again", new)]
        #expect(try await browser.post("/account/password", right).status == .seeOther)
        #expect(try await browser.get("/account").status == .ok)
        #expect(try await TestBrowser(dashboard: dashboard, session: other.token).get("").status == .seeOther)
    }

    @Test func `people change their own name`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        #expect(try await browser.post("/account/name", [("name", "")]).status == .unprocessableContent)
        #expect(try await browser.post("/account/name", [("name", "Ada")]).location.hasSuffix("?done=saved"))
        #expect(try await dashboard.person(of: browser).name == "Ada")
        #expect(try await browser.get("/account").contains("name=\"name\" value=\"Ada\""))
        #expect(try await dashboard.store.auditLog().last?.change.action == "person.set_name")
    }

    @Test func `people change their e-mail address with their password`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        _ = try await dashboard.browser("ann@a.example")
        let password = TestDashboard.password
        let wrong = [("email", "new@a.example"), ("current", "not it at all")]
        #expect(try await browser.post("/account/email", wrong).contains("is not your password"))
        let taken = try await browser.post("/account/email", [("email", "Ann@a.example"), ("current", password)])
        #expect(taken.status == .unprocessableContent && taken.contains("cannot be used: choose another"))
        let person = try await dashboard.person(of: browser)
        let other = try await dashboard.people.begin(person, address: nil, agent: "other")
        let right = [("email", "New@a.example"), ("current", password)]
        #expect(try await browser.post("/account/email", right).location.hasSuffix("?done=saved"))
        #expect(try await dashboard.person(of: browser).email.text == "new@a.example")
        #expect(try await TestBrowser(dashboard: dashboard, session: other.token).get("").status == .ok)
        let change = try #require(try await dashboard.store.auditLog().last?.change)
        #expect(change.action == "person.set_email" && change.details["email"] == "new@a.example")
    }

    @Test func `a person invited for one application sees only that`() async throws {
        let dashboard = try TestDashboard()
        let browser = try await dashboard.browser("root@a.example")
        let mine = try await TestContents(dashboard, text: "Dairy")
        let other = try await dashboard.admin.createApplication(name: Name("Butcher"), by: TestDashboard.author)
        let fields = [
            ("email", "sam@a.example"), ("scope", "sender"), ("bounds", "app:\(mine.application.uuid.lowercased)"),
        ]
        let page = try await browser.post("/admin/people", fields)
        let token = try #require(page.text.firstMatch(of: /token=([0-9a-f]{64})/)?.1)
        let invitation = try #require(try await dashboard.people.invitation(token: String(token)))
        let sam = try await dashboard.people.accept(
            invitation, email: try EmailAddress("eve@a.example"), name: Name("Sam"),
            password: Password("a long password"), address: nil)
        #expect(sam.email.text == "sam@a.example", "the address of the invitation")
        let login = try await dashboard.people.begin(sam, address: nil, agent: "")
        let theirs = TestBrowser(dashboard: dashboard, session: login.token)
        let apps = try await theirs.get("/apps")
        #expect(apps.contains("Dairy") && !apps.contains("Butcher"))
        #expect(try await theirs.get("/apps/\(other.application.uuid.lowercased)").status == .notFound)
        #expect(try await theirs.get("/admin/people").status == .forbidden)
        let wrong = try await browser.post(
            "/admin/people", [("email", "x@a.example"), ("scope", "tenant-admin"), ("bounds", "")])
        #expect(wrong.status == .unprocessableContent && wrong.contains("does not fit the role"))
    }

    @Test func `a search out of time says so and invents nothing`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "Dairy")
        func page(_ found: DevicePage) -> PageView {
            DevicePages.page(contents.application, found, [contents.platform], form: Form("/", "Filter"))
        }
        let cut = page(DevicePage([], count: DeviceCount(devices: 0, isMore: true), next: Key(7), isCut: true))
        #expect(cut.lead == "Only some of the devices were searched. The next page continues.")
        #expect(cut.sections[0].parts(of: Table.self).first?.empty == "None of the devices searched so far matches.")
        let more = page(DevicePage([contents.device], count: DeviceCount(devices: 70, isMore: true), next: Key(7)))
        #expect(more.lead == "More than 70 devices.")
        #expect(page(DevicePage([contents.device], count: nil, next: nil)).lead.isEmpty, "the first page told it")
        let none = page(DevicePage([], count: DeviceCount(devices: 0), next: nil))
        #expect(none.lead == "0 devices.")
        #expect(none.sections[0].parts(of: Table.self).first?.empty.hasPrefix("No devices match") == true)
    }

    @Test(arguments: [true, false])
    func `shutting somebody out ends their links and keys, or not`(endsIssued: Bool) async throws {
        let dashboard = try TestDashboard()
        let root = try await dashboard.browser("root@a.example")
        _ = try await dashboard.person("boss@a.example")
        let boss = try #require(try await dashboard.store.person(EmailAddress("boss@a.example")))
        let author = AuditAuthor(boss, address: nil)
        let token = try await dashboard.people.invite(
            EmailAddress("new@a.example"), scope: .operator, bounds: .everything, by: author)
        let key = try await dashboard.admin.createKey(
            name: Name("a key"), scope: .operator, bounds: .everything, by: author
        ).key
        // A key that this one made.
        let next = try await dashboard.admin.createKey(
            name: Name("another"), scope: .operator, bounds: .everything, by: AuditAuthor(key, address: nil)
        ).key
        let page = try await root.get("/admin/people/\(boss.key)")
        #expect(page.contains("name=\"issued\" value=\"stay\""))
        let fields = [("confirmed", "yes")] + (endsIssued ? [] : [("issued", "stay")])
        #expect(try await root.post("/admin/people/\(boss.key)/disable", fields).status == .seeOther)
        #expect((try await dashboard.people.invitation(token: token) == nil) == endsIssued)
        for one in [key, next] {
            #expect((try await dashboard.store.adminKey(one.id)?.revokedAt != nil) == endsIssued)
        }
        let line = try #require(try await dashboard.store.auditLog().map(\.change).last)
        #expect(line.details == ["links_and_keys": endsIssued ? "end" : "stay"])
    }

    @Test func `a changed role applies at the next click`() async throws {
        let dashboard = try TestDashboard()
        let root = try await dashboard.browser("root@a.example")
        let mine = try await TestContents(dashboard, text: "Dairy")
        let app = "app:\(mine.application.uuid.lowercased)"
        let bounds = AdminKey.Bounds.application(mine.application.key, of: Tenant.first)
        let sam = try await dashboard.browser("sam@a.example", .readOnly, bounds)
        let path = "/admin/people/\(try #require(try await dashboard.store.person(EmailAddress("sam@a.example"))).key)"
        #expect(try await root.get("/admin/people").contains("href=\"/dashboard\(path)\""))
        let page = try await root.get(path)
        #expect(page.contains("<option value=\"read-only\" selected>") && page.contains("value=\"\(app)\" selected"))
        let keys = "/apps/\(mine.application.uuid.lowercased)/compose"
        #expect(try await sam.get(keys).status == .forbidden)
        let seen = try #require(page.text.firstMatch(of: /name="seen" value="([0-9a-f]+)"/)?.1)
        let fields = [("scope", "app-admin"), ("bounds", app), ("seen", String(seen))]
        #expect(try await root.post("\(path)/role", fields).status == .seeOther)
        #expect(try await sam.get(keys).status == .ok)
        let line = try #require(
            try await dashboard.store.auditLog().map(\.change).last { $0.action == "person.set_role" })
        #expect(line.keyID == "root@a.example" && line.details["scope_before"] == "read-only", "\(line)")

        // Another operator, who still sees what was there before.
        let late = try await root.post("\(path)/role", [("scope", "sender"), ("bounds", app), ("seen", String(seen))])
        #expect(late.status == .unprocessableContent && late.contains("Somebody else has changed this"))
        let wrong = try await root.post("\(path)/role", [("scope", "tenant-admin"), ("bounds", app)])
        #expect(wrong.status == .unprocessableContent && wrong.contains("does not fit the role"))
        #expect(try await dashboard.store.person(EmailAddress("sam@a.example"))?.scope == .appAdmin)

        // A person of one application is offered no more, grants no more, and cannot change people above.
        let people = try await sam.get("/admin/people")
        #expect(people.contains("<option value=\"read-only\" selected>"))
        #expect(!people.contains("value=\"operator\"") && !people.contains("value=\"tenant-admin\""))
        let tom = try await dashboard.person("tom@a.example", .sender, bounds)
        let up = try await sam.post("/admin/people/\(tom.key)/role", [("scope", "operator"), ("bounds", "")])
        #expect(up.status == .forbidden)
        let boss = try #require(try await dashboard.store.person(EmailAddress("root@a.example")))
        #expect(try await sam.get("/admin/people/\(boss.key)").status == .forbidden)
        #expect(try await sam.post("\(path)/role", [("scope", "sender"), ("bounds", app)]).status == .conflict)
        #expect(try await dashboard.store.person(tom.key)?.scope == .sender)
    }

    @Test func `style sheet and script are small and cached for good`() async throws {
        let dashboard = try TestDashboard()
        for name in ["style.css", "script.js"] {
            let file = try await dashboard.send(.get, "/dashboard/assets/\(name)", [:])
            #expect(file.status == .ok && file.text.utf8.count <= 30 * 1_024)
            #expect(file.headers[.cacheControl]?.contains("immutable") == true)
        }
    }

    @Test func `an audit cell is no formula to a spreadsheet`() {
        #expect("=1+1".csvCell == "\"'=1+1\"")
        #expect("a \"b\"".csvCell == "\"a \"\"b\"\"\"")
    }
}
