import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// The page of one user: what is known, changing it, the file, and erasing.
@Suite struct UserPageTests {
    private struct Fixture {
        let dashboard: TestDashboard
        let contents: TestContents
        let browser: TestBrowser

        init() async throws {
            dashboard = try TestDashboard()
            contents = try await TestContents(dashboard, text: "Ann & Söhne")
            browser = try await dashboard.browser("boss@a.example")
        }

        var users: String { "/apps/\(contents.application.uuid.lowercased)/users" }
        let id = "Ann & Söhne"
        var encoded: String { id.percentEncoded }

        func profile() async throws -> UserProfile? {
            try await dashboard.store.user(id, of: contents.application.key)?.profile
        }
    }

    @Test func `users are found by id prefix, device users by part`()
        async throws
    {
        let fixture = try await Fixture()
        let (browser, users) = (fixture.browser, fixture.users)
        _ = try await fixture.dashboard.store.setUser("sohn-1", of: fixture.contents.application.key) { $0 }
        let beginning = try await browser.get("\(users)?q=Ann")
        #expect(beginning.contains("Ann &amp; S") && !beginning.contains("sohn-1"))
        #expect(!beginning.contains("Other ids with this text"))
        let amid = try await browser.get("\(users)?q=& s%C3%B6hn".replacing("& ", with: "%26%20"))
        #expect(amid.contains("No user id begins with this") && amid.contains("Other ids with this text"))
        #expect(amid.contains("Ann &amp; S"))
        let none = try await browser.get("\(users)?q=nobody")
        #expect(none.contains("No user id begins with this") && !none.contains("Other ids"))
    }

    @Test func `a profile is shown, changed whole, and kept when refused`() async throws {
        let fixture = try await Fixture()
        let (browser, users) = (fixture.browser, fixture.users)
        #expect(try await browser.get(users).contains("Ann &amp; S"))
        let saved = try await browser.post(
            "\(users)/change",
            [
                ("id", fixture.id), ("language", "de-AT"), ("time_zone", "Europe/Vienna"),
                ("attributes", #"{"plan": "gold", "visits": 3}"#),
            ])
        #expect(saved.location.hasSuffix("/users?id=\(fixture.encoded)&done=saved"))
        #expect(try await fixture.profile()?.attributes == ["plan": .text("gold"), "visits": .number(3)])
        let page = try await browser.get("\(users)?id=\(fixture.encoded)")
        #expect(page.contains("Europe/Vienna") && page.contains("gold") && page.contains("Has one device."))

        for (attributes, words) in [
            ("[1]", "has to be a JSON object"), (#"{"plan": null}"#, "has to be a text, a number"), ("{", "attributes"),
        ] {
            let refused = try await browser.post(
                "\(users)/change", [("id", fixture.id), ("language", "fr"), ("attributes", attributes)])
            #expect(refused.status == .unprocessableContent && refused.contains(words) && refused.contains("fr"))
        }
        let nowhere = try await browser.post(
            "\(users)/change", [("id", fixture.id), ("time_zone", "Vienna"), ("attributes", "{}")])
        #expect(nowhere.status == .unprocessableContent && nowhere.contains("it has to be a time zone"))
        _ = try await browser.post("\(users)/change", [("id", fixture.id), ("attributes", #"{"visits": 4}"#)])
        let profile = try await fixture.profile()
        #expect(profile?.attributes == ["visits": .number(4)] && profile?.language == nil)
    }

    @Test func `all that is known is a file`() async throws {
        let fixture = try await Fixture()
        let file = try await fixture.browser.get("\(fixture.users)/export?id=\(fixture.encoded)")
        #expect(file.headers[.contentDisposition] == "attachment; filename=\"user.json\"")
        let value = try JSONValue(json: file.text.utf8)
        #expect(value["user_id"] == .string(fixture.id))
        guard case .array(let devices)? = value["devices"] else { throw InvalidInput(field: "devices", "is no list") }
        #expect(devices.map { $0["device_uuid"] } == [.string(fixture.contents.device.uuid.lowercased)])
        #expect(value["pushes_complete"] == .bool(true))
        #expect(try await fixture.browser.get("\(fixture.users)/export?id=nobody").status == .notFound)
    }

    @Test func `an imported device was never seen`() async throws {
        let fixture = try await Fixture()
        let registration = try Registration(
            token: DeviceToken(bytes: Array("imported".utf8)), about: Device.About(), customUserID: .set("old"),
            topics: .keep)
        _ = try await fixture.dashboard.store.importDevices(
            [DeviceImport(registration: registration, uuid: UUID())], on: fixture.contents.platform)
        let page = try await fixture.browser.get("\(fixture.users)?id=old")
        #expect(page.contains("Has one device.") && !page.contains("1970-01-01"))
        #expect(try await fixture.browser.get("\(fixture.users)/export?id=old").contains("\"registered_at\":null"))
        let segments = fixture.users.replacing("/users", with: "/segments")
        _ = try await fixture.browser.post(segments, [("name", "old"), ("where", "user:old")])
        let sample = try await fixture.browser.get("\(segments)/old")
        #expect(!sample.contains("No devices match now.") && !sample.contains("1970-01-01"))
    }

    @Test func `the file has pushes older than the page's`() async throws {
        let fixture = try await Fixture()
        let (store, push) = (fixture.dashboard.store, fixture.contents.push)
        try await store.resume(fixture.contents.platform.key)
        try await store.deliver { _, _ in .accepted }
        let request = PushRequest(content: Push.Content(body: "Later"), target: try Target(topics: ["nobody"]))
        for _ in 1...1_000 {
            _ = try await fixture.dashboard.services.pushes.send(request, for: fixture.contents.application.key)
        }
        let receipt = push.receiptID.lowercased
        #expect(!(try await fixture.browser.get("\(fixture.users)?id=\(fixture.encoded)")).contains(receipt))
        let file = try await fixture.browser.get("\(fixture.users)/export?id=\(fixture.encoded)")
        #expect(file.contains(receipt))
        #expect(try JSONValue(json: file.text.utf8)["pushes_complete"] == .bool(true))
    }

    @Test func `the file leaves out pushes to another user`() async throws {
        let fixture = try await Fixture()
        let (store, contents) = (fixture.dashboard.store, fixture.contents)
        try await store.resume(contents.platform.key)
        func register(_ user: String) async throws {
            let registration = try Registration(
                token: try #require(contents.device.token), about: .init(), customUserID: .set(user), topics: .keep,
                detail: DeviceDetail.Change(language: "de-AT"))
            _ = try await store.register(registration, as: contents.device.uuid, on: contents.platform)
        }
        try await register("kim")
        let request = PushRequest(content: Push.Content(body: "For Kim"), target: try Target(customUserIDs: ["kim"]))
        _ = try await fixture.dashboard.services.pushes.send(request, for: contents.application.key)
        try await store.deliver { _, _ in .accepted }
        try await register(fixture.id)
        let file = try await fixture.browser.get("\(fixture.users)/export?id=\(fixture.encoded)")
        #expect(file.contains(contents.push.receiptID.lowercased) && !file.contains("For Kim"))
        #expect(file.contains("de-AT"), "the language of the device")
    }

    @Test func `two users are merged after a question`() async throws {
        let fixture = try await Fixture()
        let (browser, users, store) = (fixture.browser, fixture.users, fixture.dashboard.store)
        #expect(try await browser.get("\(users)?id=\(fixture.encoded)").contains("compose?user="))
        for into in ["", "nobody", fixture.id] {
            let refused = try await browser.post("\(users)/merge", [("id", fixture.id), ("into", into)])
            #expect(refused.status == .unprocessableContent, "\(into)")
        }
        _ = try await store.setUser("ann-2", of: fixture.contents.application.key) { $0 }
        let fields = [("id", fixture.id), ("into", "ann-2")]
        let asked = try await browser.post("\(users)/merge", fields)
        #expect(asked.status == .ok && asked.contains("Devices that change their user"))
        let platform = fixture.contents.platform.key
        #expect(try await store.device(fixture.contents.device.uuid, on: platform)?.customUserID == fixture.id)
        let merged = try await browser.post("\(users)/merge", fields + [("confirmed", "yes")])
        #expect(merged.location.hasSuffix("/users?id=ann-2&done=merged"))
        #expect(try await store.device(fixture.contents.device.uuid, on: platform)?.customUserID == "ann-2")
        #expect(try await store.user(fixture.id, of: fixture.contents.application.key) == nil)
        #expect(try await store.auditLog().last?.change.action == "user.merge")
    }

    @Test func `a user is erased by whoever types the id`() async throws {
        let fixture = try await Fixture()
        let (browser, users) = (fixture.browser, fixture.users)
        let refused = try await browser.post("\(users)/erase", [("id", fixture.id), ("confirm", "Ann")])
        #expect(refused.status == .unprocessableContent && refused.contains("is not the id"))
        let store = fixture.dashboard.store
        let platform = fixture.contents.platform.key
        #expect(try await store.device(fixture.contents.device.uuid, on: platform)?.isActive == true)
        let erased = try await browser.post("\(users)/erase", [("id", fixture.id), ("confirm", fixture.id)])
        #expect(erased.location.hasSuffix("/users?done=erased"))
        let device = try await store.device(fixture.contents.device.uuid, on: platform)
        #expect(device?.isActive != true && device?.customUserID == nil)
        #expect(try await browser.get("\(users)?id=\(fixture.encoded)").status == .notFound)
        #expect(try await store.auditLog().last?.change.action == "user.erase")
    }

    @Test func `a read-only person sees no form`() async throws {
        let fixture = try await Fixture()
        let reader = try await fixture.dashboard.browser(
            "reader@a.example", .readOnly, .tenant(fixture.contents.application.tenantKey))
        let page = try await reader.get("\(fixture.users)?id=\(fixture.encoded)")
        #expect(page.status == .ok && !page.contains("Erase this user"))
        let fields = [("id", fixture.id), ("confirm", fixture.id)]
        #expect(try await reader.post("\(fixture.users)/erase", fields).status == .forbidden)
    }
}
