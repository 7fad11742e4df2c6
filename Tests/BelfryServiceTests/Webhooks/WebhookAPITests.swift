import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Webhooks and the feed through the admin API.
@Suite struct WebhookAPITests {
    private struct Fixture {
        let server: TestAdminServer
        let application: BelfryService.Application

        init() async throws {
            server = try await TestAdminServer()
            application = try await server.admin.createApplication(
                name: try Name("shop"), of: Tenant.first, by: TestAdminServer.author
            ).application
        }

        func send(
            _ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil, as key: String? = nil
        ) async throws -> TestAnswer {
            try await server.send(method, "apps/\(application.uuid.lowercased)/\(rest)", as: key, body)
        }

        func tell(_ kind: WebhookEvent.Kind, _ subject: String) async throws -> WebhookEvent {
            try await server.store.tell(kind, of: application, about: subject)
        }
    }

    private static let new = #"{"name":"crm","url":"https://crm.example/","kinds":["user.changed","device.gone"]}"#

    @Test func `a webhook is made, changed, tested, paused and deleted`() async throws {
        let fixture = try await Fixture()
        let made = try await fixture.send(.post, "webhooks", Self.new)
        #expect(made.status == 201 && made["state"] == .string("active"), "\(made)")
        #expect(made["kinds"] == .strings(["device.gone", "user.changed"]))
        #expect(made["secret"]?.stringValue?.hasPrefix("whsec_") == true)
        let path = "webhooks/\(try #require(made["webhook_uuid"]?.stringValue))"
        let changed = try await fixture.send(.patch, path, #"{"kinds":["*"],"name":"all"}"#)
        #expect(changed["name"] == .string("all") && changed["url"] == .string("https://crm.example/"), "\(changed)")
        #expect(changed["secret"] == nil && changed.text.contains("campaign.finished"))
        for body in ["{}", #"{"name":null}"#, #"{"secret":"\#(WebhookSecret().text)"}"#, #"{"url":"http://"}"#] {
            #expect(try await fixture.send(.patch, path, body).status == 400, "\(body)")
        }
        let test = try await fixture.send(.post, "\(path)/test")
        #expect(test["delivered"] == .bool(false) && test["fault"] == .string("this process sends no messages"))
        let deliveries = try await fixture.send(.get, "\(path)/deliveries")
        #expect(deliveries.text.contains(#""event_id":null"#) && deliveries.text.contains(#""type":"webhook.test""#))
        #expect(try await fixture.send(.post, "\(path)/pause")["state"] == .string("paused"))
        #expect(try await fixture.send(.post, "\(path)/resume")["state"] == .string("active"))
        let list = try await fixture.send(.get, "webhooks")
        #expect(list.text.contains("crm.example") && !list.text.contains("whsec_"))
        #expect(try await fixture.send(.delete, path).status == 204)
        #expect(try await fixture.send(.get, path).status == 404)
        #expect(
            try await fixture.server.audited() == [
                "webhook.delete", "webhook.resume", "webhook.pause", "webhook.test", "webhook.update",
                "webhook.create",
            ])
    }

    @Test func `a rotation answers the new secret once`() async throws {
        let fixture = try await Fixture()
        let made = try await fixture.send(.post, "webhooks", Self.new)
        let path = "webhooks/\(try #require(made["webhook_uuid"]?.stringValue))"
        let rotated = try await fixture.send(.post, "\(path)/rotate")
        #expect(rotated["secret"]?.stringValue?.hasPrefix("whsec_") == true && rotated["secret"] != made["secret"])
        let until = fixture.server.clock.now + .seconds(86_400)
        #expect(rotated["former_secret_until"] == .string(until.text), "\(rotated)")
        let own = "whsec_\(Data([UInt8](repeating: 7, count: 24)).base64EncodedString())"
        let given = try await fixture.send(.post, "\(path)/rotate", #"{"secret":"\#(own)","overlap_seconds":0}"#)
        #expect(given["secret"] == .string(own), "\(given)")
        #expect(try await fixture.send(.get, path)["secret"] == nil)
        for seconds in ["-1", "604801", "9223372036854775807"] {
            let refused = try await fixture.send(.post, "\(path)/rotate", #"{"overlap_seconds":\#(seconds)}"#)
            #expect(refused.status == 400 && refused.text.contains("overlap_seconds"), "\(refused)")
        }
    }

    @Test(arguments: [
        (#"{"url":"https://a.example","kinds":["*"]}"#, "name"), (#"{"name":"a","kinds":["*"]}"#, "url"),
        (#"{"name":"a","url":"https://a.example"}"#, "kinds"),
        (#"{"name":"a","url":"https://a.example","kinds":[]}"#, "kinds"),
        (#"{"name":"a","url":"https://a.example","kinds":["push"]}"#, "push.settled"),
        (#"{"name":" \n","url":"https://a.example","kinds":["*"]}"#, "name is blank"),
        (#"{"name":"a\tb","url":"https://a.example","kinds":["*"]}"#, "name holds the control character"),
        (#"{"name":"a","url":"ftp://a.example","kinds":["*"]}"#, "has to begin with"),
        (#"{"name":"a","url":"https://a.example","kinds":["*"],"secret":"whsec_AAAA"}"#, "24 to 64 bytes"),
        (#"{"name":"a","url":"https://a.example","kinds":["*"],"events":[]}"#, "'events'"),
    ])
    func `a faulty webhook is refused by its field`(body: String, words: String) async throws {
        let fixture = try await Fixture()
        let refused = try await fixture.send(.post, "webhooks", body)
        #expect(refused.status == 400 && refused.text.contains(words), "\(refused)")
    }

    @Test func `only operators may name addresses without TLS`() async throws {
        let fixture = try await Fixture()
        let bounds = AdminKey.Bounds.application(fixture.application.key, of: Tenant.first)
        let key = try await fixture.server.key(.appAdmin, bounds)
        let body = #"{"name":"a","url":"http://10.0.0.1/","kinds":["*"]}"#
        #expect(try await fixture.send(.post, "webhooks", body, as: key).status == 400)
        #expect(try await fixture.send(.post, "webhooks", body).status == 201)
        let capitals = #"{"name":"b","url":"HTTPS://A.example/","kinds":["*"]}"#
        #expect(try await fixture.send(.post, "webhooks", capitals, as: key).status == 201)
        #expect(try await fixture.send(.get, "webhooks", as: key).status == 200)
    }

    @Test func `events are sent again by time or id`() async throws {
        let fixture = try await Fixture()
        let sample = try await SampleWebhook(
            "crm.example", of: fixture.application, in: fixture.server.store, sealedBy: fixture.server.vault)
        let path = "webhooks/\(sample.webhook.uuid.lowercased)/replay"
        let all = try await fixture.send(.post, path, #"{"since":"2001-01-01T00:00:00Z"}"#)
        #expect(all.status == 200 && all["events"] == .integer(1), "\(all)")
        #expect(try await fixture.send(.post, path, #"{"events":["\#(sample.event.id)"]}"#).status == 200)
        for body in [
            "{}", #"{"since":"2001-01-01T00:00:00Z","events":["evt_1"]}"#, #"{"events":["17"]}"#, #"{"events":[]}"#,
        ] {
            #expect(try await fixture.send(.post, path, body).status == 400, "\(body)")
        }
    }

    // MARK: The feed

    @Test func `a reader of the feed misses nothing between pages`() async throws {
        let fixture = try await Fixture()
        let off = try await fixture.send(.get, "feed")
        #expect(off.status == 409 && off.text.contains("or `belfry webhook feed set`"), "\(off)")
        let set = try await fixture.send(.put, "feed", #"{"kinds":["user.changed","device.gone"]}"#)
        #expect(set["next"] == .string("0") && set["kinds"] == .strings(["device.gone", "user.changed"]), "\(set)")
        for number in 1...5 { _ = try await fixture.tell(number == 3 ? .deviceGone : .userChanged, "u\(number)") }
        var (next, seen) = ("", [String]())
        repeat {
            let page = try await fixture.send(.get, "feed?limit=2&after=\(next)")
            guard case .array(let events)? = page["events"] else { break }
            seen += events.compactMap { $0["data"]?["subject"]?.stringValue }
            #expect(events.last.map { $0["cursor"] == page["next"] } ?? true, "\(page)")
            if events.isEmpty { break }
            next = page["next"]?.stringValue ?? ""
        } while true
        #expect(seen == ["u1", "u2", "u3", "u4", "u5"] && next == "5")
        let some = try await fixture.send(.get, "feed?kinds=device.gone&after=3")
        #expect(some.text == #"{"events":[],"next":"5"}"#, "\(some)")
        let one = try await fixture.send(.get, "feed?kinds=device.gone&limit=1000")
        #expect(one.text.contains("u3") && !one.text.contains("u1") && one["next"] == .string("5"), "\(one)")
    }

    @Test func `a reader without a place hears of no dropped events`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["*"]}"#)
        _ = try await fixture.tell(.userChanged, "old")
        fixture.server.clock.advance(by: WebhookEvent.lifetime + .seconds(1))
        _ = try await fixture.server.store.deleteExpired(.webhooks, before: fixture.server.clock.now)
        _ = try await fixture.tell(.userChanged, "new")
        let page = try await fixture.send(.get, "feed")
        #expect(page["events"]?.elements.compactMap { $0["type"]?.stringValue } == ["user.changed"], "\(page)")
        #expect(try await fixture.send(.get, "feed?after=0").text.contains("events.dropped"))
    }

    @Test func `an event is shown as receivers get it`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["*"]}"#)
        let event = try await fixture.tell(.userDeleted, "emma")
        let shown = try await fixture.send(.get, "feed/\(event.id)")
        #expect(shown["id"] == .string(event.id) && shown["cursor"] == .string("1"), "\(shown)")
        #expect(shown["type"] == .string("user.deleted"))
        #expect(shown["data"]?["application"] == .string(fixture.application.uuid.lowercased))
        for id in ["evt_0", "evt_x", "17"] { #expect(try await fixture.send(.get, "feed/\(id)").status == 404) }
        let other = try await fixture.server.resources("other")
        let theirs = try await fixture.server.send(.get, "apps/\(other.application.uuid.lowercased)/feed/\(event.id)")
        #expect(theirs.status == 404, "another application's event")
    }

    @Test(arguments: [
        ("after=9", "newest event of this feed, 0"), ("after=x", "after was not issued"),
        ("after=-1", "after was not issued"),
        ("limit=0", "1 to 1000"), ("limit=1001", "1 to 1000"), ("wait=31", "0 to 30"),
        ("kinds=push.settled", "does not keep"), ("kinds=push", "push.settled"), ("cursor=0", "'cursor'"),
    ])
    func `a faulty question to the feed is refused`(query: String, words: String) async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["user.changed"]}"#)
        let refused = try await fixture.send(.get, "feed?\(query)")
        #expect(refused.status == 400 && refused.text.contains(words), "\(refused)")
    }

    @Test func `a reader without room to wait is answered at once`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["user.changed"]}"#)
        let shares = fixture.server.services.shares
        let holder = ShareHolder(application: fixture.application.key, tenant: Tenant.first, key: nil)
        let leases = try (0..<32).map { _ in try shares.take(.streams, for: holder) }
        // The clock stands still, so a reader that waits would wait for ever.
        let answer = try await fixture.send(.get, "feed?wait=30")
        #expect(answer.text == #"{"events":[],"next":"0"}"#, "\(answer)")
        for lease in leases { lease.end() }
        #expect(shares.used(of: .streams) == 0 && shares.used(of: .exports) == 0)
    }

    @Test func `a reader that waits gets the next event`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["user.changed"]}"#)
        let (shares, clock) = (fixture.server.services.shares, fixture.server.clock)
        async let answer = fixture.send(.get, "feed?wait=30")
        while shares.used(of: .streams) == 0 { await Task.yield() }
        let event = try await fixture.tell(.userChanged, "emma")
        while shares.used(of: .streams) > 0 {
            clock.advance(by: .milliseconds(100))
            await Task.yield()
        }
        #expect(try await answer.text.contains(event.id))
    }

    @Test func `a reader that waits ends with the node`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.send(.put, "feed", #"{"kinds":["user.changed"]}"#)
        fixture.server.services.webhooks.stop.close()
        #expect(try await fixture.send(.get, "feed?wait=30").text == #"{"events":[],"next":"0"}"#)
    }
}
