import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

@Suite struct AdminTests {
    @Test func `a key works until revoked, noting use once a minute`() async throws {
        let server = try await TestAdminServer()
        let created = try await server.send(.post, "keys", #"{"name":"ops","scope":"operator"}"#)
        #expect(created.status == 201)
        let key = try #require(created["key"]?.stringValue)
        let id = try #require(created["key_id"]?.stringValue)
        #expect(key.hasPrefix("bfy_\(id)_"))
        #expect(try await server.send(.get, "apps", as: key).status == 200)
        let used = server.clock.now
        server.clock.advance(by: .seconds(59))
        #expect(try await server.send(.get, "apps", as: key).status == 200)
        let shown = try await server.send(.get, "keys/\(id)")
        #expect(shown["last_used_at"] == .string(used.text))
        #expect(shown["key"] == nil && !shown.text.contains(key))
        #expect(try await server.send(.delete, "keys/\(id)").status == 204)
        #expect(try await server.send(.get, "apps", as: key).status == 401)
        #expect(try await server.send(.post, "keys/\(id)/rotate").status == 409)
        #expect(try await server.audited() == ["key.revoke", "key.create"])
    }

    @Test func `only operators see server details, and nobody sees secrets`() async throws {
        let server = try await TestAdminServer()
        let admin = try await server.key(.tenantAdmin, .tenant(Tenant.first))
        for path in ["settings", "database", "log"] {
            #expect(try await server.send(.get, "server/\(path)", as: admin).status == 403)
        }
        let settings = try await server.send(.get, "server/settings")
        #expect(settings.text.contains(#""key":"database.url","secret":true,"source":"environment","value":null"#))
        #expect(!settings.text.contains("hunter2") && settings.text.contains("8443"))
        let database = try await server.send(.get, "server/database")
        #expect(database["bytes"] == .integer(4_096) && database["last_backup"] == .null)
        let log = try await server.send(.get, "server/log?limit=1")
        #expect(log.text.contains("platform is parked") && !log.text.contains("serving"))
        let cursor = try #require(log["next_cursor"]?.stringValue)
        #expect(try await server.send(.get, "server/log?limit=1&cursor=\(cursor)").text.contains("serving"))
        #expect(!(try await server.send(.get, "server/log?level=warning")).text.contains("serving"))
        #expect(!(try await server.send(.get, "server/log?q=SERVING")).text.contains("parked"))
        #expect(try await server.send(.get, "server/log?level=loud").status == 400)
    }

    @Test func `a rotated key's old secret works until its grace ends`() async throws {
        let server = try await TestAdminServer()
        let old = try await server.key(.readOnly, .tenant(Tenant.first))
        let id = try #require(AdminKey.Text(old)).id
        let reply = try await server.send(.post, "keys/\(id)/rotate", #"{"grace_seconds":60}"#)
        let new = try #require(reply["key"]?.stringValue)
        for key in [old, new] { #expect(try await server.send(.get, "apps", as: key).status == 200) }
        server.clock.advance(by: .seconds(60))
        #expect(try await server.send(.get, "apps", as: old).status == 401)
        #expect(try await server.send(.get, "apps", as: new).status == 200)
    }

    @Test func `a rotation announces that it ends the previous grace`() async throws {
        let server = try await TestAdminServer()
        let app = try await server.resources("shop").application.uuid.lowercased
        let id = try #require(AdminKey.Text(try await server.key(.readOnly, .tenant(Tenant.first)))).id
        for path in ["keys/\(id)/rotate", "apps/\(app)/api-key", "apps/\(app)/shared-secret"] {
            let first = try await server.send(.post, path, #"{"grace_seconds":60}"#)
            #expect(first.status == 200 && first["grace_ended_early"] == nil, "\(first)")
            let end = (server.clock.now + .seconds(60)).text
            let second = try await server.send(.post, path, #"{"grace_seconds":60}"#)
            #expect(second["grace_ended_early"] == .string(end), "\(path): \(second)")
            server.clock.advance(by: .seconds(60))
            #expect(try await server.send(.post, path)["grace_ended_early"] == nil, "nothing was left of it")
        }
    }

    @Test func `a device registers completely and is warned of short tokens`()
        async throws
    {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/devices"
        func create(_ token: String, _ more: String = "") async throws -> TestAnswer {
            try await server.send(
                .post, path,
                #"{"platform_uuid":"\#(resources.platform.uuid.lowercased)","registration_token":"\#(token)"\#(more)}"#)
        }
        let token = String(repeating: "ab", count: 32)
        let named = try await create(token, #","device_alias":"Emma""#)
        #expect(named["device_alias"] == .string("Emma") && named.headers[.warning] == nil, "\(named)")
        let again = try await create(token)
        #expect(again["device_uuid"] == named["device_uuid"])
        let shown = try await server.send(.get, "\(path)/\(try #require(named["device_uuid"]?.stringValue))")
        #expect(shown["device_alias"] == again["device_alias"] && again["device_alias"] != .string("Emma"), "\(again)")
        let topics = (0...1_024).map { #""t\#($0)""# }.joined(separator: ",")
        let uuid = try #require(named["device_uuid"]?.stringValue)
        for refused in [
            try await create(token, #","topics":[\#(topics)]"#),
            try await server.send(.patch, "\(path)/\(uuid)", #"{"topics":[\#(topics)]}"#),
        ] {
            #expect(refused.message == "topics has 1025 topics, the limit is 1024", "\(refused)")
        }
        let short = try await create("abcdef")
        #expect(
            short.status == 201
                && short.headers[.warning]
                    == #"299 - "registration_token is 3 bytes, tokens of APNs have 32 so far""#,
            "\(short.headers)")
    }

    @Test func `only the operator says where a platform is reached`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let admin = try await server.key(.tenantAdmin, .tenant(resources.tenant.key))
        let path = "platforms/\(resources.platform.uuid.lowercased)/credentials"
        let body = #"{"credentials":{"topic":"t","endpoint":"https://10.0.0.1"}}"#
        let refused = try await server.send(.put, path, as: admin, body)
        #expect(refused.status == 400 && refused.text.contains("credentials.endpoint"))
        #expect(try await server.send(.put, path, body).status == 200)
        #expect(try await server.send(.put, path, as: admin, #"{"credentials":{"topic":"t"}}"#).status == 200)
        let create =
            #"{"type":"ios","mode":"production","name":"x","credentials":{"topic":"t","endpoint":"https://h"}}"#
        let apps = "apps/\(resources.application.uuid.lowercased)/platforms"
        #expect(try await server.send(.post, apps, as: admin, create).status == 400)
        #expect(try await server.send(.post, apps, create).status == 201)
    }

    @Test func `an admin grants keys only within its own scope`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let admin = try await server.key(
            .appAdmin, .application(resources.application.key, of: resources.tenant.key))
        let uuid = resources.application.uuid.lowercased
        let sender = try await server.send(
            .post, "keys", as: admin, #"{"name":"s","scope":"sender","app_uuid":"\#(uuid)"}"#)
        #expect(sender.status == 201)
        #expect(sender["app_uuid"] == .string(uuid))
        for (body, status) in [
            (#"{"name":"s","scope":"sender","tenant_uuid":"\#(resources.tenant.uuid.lowercased)"}"#, 403),
            (#"{"name":"s","scope":"operator"}"#, 400), (#"{"name":"s","scope":"king"}"#, 400),
            (#"{"name":"s"}"#, 400), (#"{"scope":"sender"}"#, 400),
        ] {
            #expect(try await server.send(.post, "keys", as: admin, body).status == status, "\(body)")
        }
        let list = try await server.send(.get, "keys", as: admin)
        #expect(list.text.contains(try #require(sender["key_id"]?.stringValue)))
        #expect(!list.text.contains(resources.key.id), "a tenant's key is above an application's admin")
    }

    @Test func `an outdated version is refused and changes nothing`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)"
        for (thing, change) in [
            ("schedules/\(resources.schedule.key.id)", #"{"message":{"body":"B"}}"#),
            ("locations/\(resources.location.key)", #"{"name":"B"}"#),
            ("location-groups/\(resources.group.key)", #"{"name":"B"}"#),
            ("geofences/\(resources.geofence.key)", #"{"trigger":"exit"}"#),
        ] {
            let read = try await server.send(.get, "\(path)/\(thing)")
            let tag = try #require(read.headers[.eTag], "\(thing)")
            let other = try await server.send(.patch, "\(path)/\(thing)", change, headers: [.ifMatch: "\"no\", \(tag)"])
            let newer = try #require(other.headers[.eTag], "\(thing)")
            #expect(other.status == 200 && newer != tag, "\(thing)")
            let late = try await server.send(.patch, "\(path)/\(thing)", change, headers: [.ifMatch: tag])
            #expect(late.status == 412 && late.message?.contains("changed since you read it") == true, "\(late)")
            #expect(try await server.send(.get, "\(path)/\(thing)").headers[.eTag] == newer, "\(thing)")
            let any = try await server.send(.patch, "\(path)/\(thing)", change, headers: [.ifMatch: "*"])
            #expect(any.status == 200, "\(any)")
        }
        #expect(try await server.audited().count { $0.hasSuffix(".update") } >= 8)
    }

    @Test func `null clears a schedule's expiry and urgency; omission keeps them`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)"
        let due = (server.clock.now + .seconds(60)).text
        let end = (server.clock.now + .seconds(600)).text
        let made = try await server.send(
            .post, "\(path)/pushes",
            #"{"message":{"body":"x"},"target":{"everyone":true},"send_at":"\#(due)","expires_at":"\#(end)","urgency":"bulk"}"#
        )
        let schedule = "\(path)/schedules/\(try #require(made["schedule_id"]?.stringValue, "\(made)"))"
        let kept = try await server.send(.patch, schedule, #"{"message":{"body":"y"}}"#)
        #expect(kept["urgency"] == .string("bulk") && kept["expires_at"] == .string(end), "\(kept)")
        let urgency = try await server.send(.patch, schedule, #"{"urgency":null}"#)
        #expect(urgency["urgency"] == .null && urgency["expires_at"] == .string(end), "\(urgency)")
        let expiry = try await server.send(.patch, schedule, #"{"expires_at":null}"#)
        #expect(expiry["expires_at"] == .null && expiry["due_at"] == .string(due), "\(expiry)")
    }

    @Test func `roles stay within the key's scope; the last operator stays`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let (app, tenant) = (resources.application.uuid.lowercased, resources.tenant.uuid.lowercased)
        let admin = try await server.key(
            .appAdmin, .application(resources.application.key, of: resources.tenant.key))
        let path = "people/\(resources.person.key)"
        let changed = try await server.send(.patch, path, as: admin, #"{"role":"app-admin"}"#)
        #expect(changed["role"] == .string("app-admin") && changed["app_uuid"] == .string(app), "\(changed)")
        for (body, status) in [
            (#"{"role":"operator"}"#, 403), (#"{"role":"tenant-admin","tenant_uuid":"\#(tenant)"}"#, 403),
            (#"{"role":"tenant-admin"}"#, 400), (#"{"role":"king"}"#, 400), ("{}", 400),
            (#"{"role":"sender","tenant_uuid":"\#(tenant)","app_uuid":"\#(app)"}"#, 400),
        ] {
            #expect(try await server.send(.patch, path, as: admin, body).status == status, "\(body)")
        }
        let sender = try await server.key(
            .sender, .application(resources.application.key, of: resources.tenant.key))
        #expect(try await server.send(.patch, path, as: sender, #"{"role":"sender"}"#).status == 403)
        #expect(try await server.send(.get, "people", as: sender).status == 403)
        #expect(try await server.audited() == ["person.set_role"])

        #expect(try await server.send(.patch, path, #"{"role":"operator"}"#)["role"] == .string("operator"))
        #expect(try await server.send(.patch, path, as: admin, #"{"role":"sender"}"#).status == 403, "above it now")
        #expect(!(try await server.send(.get, "people", as: admin)).text.contains(resources.person.email.text))
        let last = try await server.send(.patch, path, #"{"role":"sender","app_uuid":"\#(app)"}"#)
        #expect(last.status == 409 && last.message?.contains("last operator") == true, "\(last)")
        let list = try await server.send(.get, "people")
        #expect(list.text.contains(resources.person.email.text) && list["next_cursor"] == .null)
        #expect(try await server.send(.get, path)["state"] == .string("active"))
        #expect(try await server.send(.get, "people/999").status == 404)
    }

    @Test(arguments: [(nil, true), (#"{"links_and_keys":"end"}"#, true), (#"{"links_and_keys":"stay"}"#, false)])
    func `shutting a person out ends what they made, unless told`(body: String?, ends: Bool) async throws {
        let server = try await TestAdminServer()
        let person = try await server.resources("shop").person
        let author = AuditAuthor(person, address: nil)
        let key = try await server.admin.createKey(
            name: try Name("theirs"), scope: .readOnly, bounds: person.bounds, by: author)
        try await server.store.create(
            try NewInvitation(
                tokenHash: [1], email: EmailAddress("friend@a.example"), person: nil, scope: .readOnly,
                bounds: person.bounds,
                expiresAt: server.clock.now + .seconds(60), author: person.key))
        let path = "people/\(person.key)"
        let out = try await server.send(.post, "\(path)/disable", body)
        #expect(out.status == 200 && out["state"] == .string("disabled"), "\(out)")
        #expect(try await server.send(.get, "apps", as: key.text.text).status == (ends ? 401 : 200))
        #expect(try await server.store.invitation(tokenHash: [1]) == nil || !ends)
        #expect(try await server.send(.post, "\(path)/enable")["state"] == .string("active"))
        #expect(try await server.audited() == ["person.enable", "person.disable", "key.create"])
    }

    @Test func `the last operator is not shut out, nor anybody above`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "people/\(resources.person.key)/disable"
        for (body, status) in [(#"{"links_and_keys":"burn"}"#, 400), (#"{"links":"end"}"#, 400), ("[]", 400)] {
            #expect(try await server.send(.post, path, body).status == status, "\(body)")
        }
        let bounds = AdminKey.Bounds.application(resources.application.key, of: resources.tenant.key)
        let sender = try await server.key(.sender, bounds)
        #expect(try await server.send(.post, path, as: sender).status == 403)
        _ = try await server.send(.patch, "people/\(resources.person.key)", #"{"role":"operator"}"#)
        let admin = try await server.key(.appAdmin, bounds)
        #expect([403, 404].contains(try await server.send(.post, path, as: admin).status), "above it")
        let last = try await server.send(.post, path)
        #expect(last.status == 409 && last.message?.contains("last operator") == true, "\(last)")
    }

    @Test func `a push with an unknown field is refused and unsent`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let app = "apps/\(resources.application.uuid.lowercased)"
        let push = #"{"message":{"body":"Hi"},"target":{"everyone":true}}"#
        for (path, body) in [
            ("\(app)/pushes?dry_run=true", push), ("\(app)/pushes?x", push),
            ("\(app)/topics?limit=1", #"{"name":"a"}"#),
        ] {
            let refused = try await server.send(.post, path, body)
            #expect(refused.status == 400 && refused.message?.contains("is not a parameter") == true, "\(refused)")
            #expect(refused.message?.hasSuffix("nothing was sent") == true, "\(refused)")
        }
        for (field, words) in [
            (#""dry_run":true"#, "'dry_run' is not a field of this request"),
            (#""sendat":"2090-01-31T08:30:00Z""#, "(is send_at meant?)"),
        ] {
            let refused = try await server.send(.post, "\(app)/pushes", push.dropLast() + ",\(field)}")
            #expect(refused.status == 400 && refused.message?.contains(words) == true, "\(refused)")
            #expect(refused.message?.hasSuffix("nothing was sent") == true, "\(refused)")
        }
        for (custom, words) in [
            (#"{"ios":{"aps":{"alert":"x"}}}"#, "message.custom.ios.aps"), (#"{"iOS":{}}"#, "(is ios meant?)"),
            (#"{"ios":{"content_available":true}}"#, "(is content-available meant?)"),
        ] {
            let refused = try await server.send(
                .post, "\(app)/pushes", #"{"message":{"custom":\#(custom)},"target":{"everyone":true}}"#)
            #expect(refused.status == 400 && refused.message?.contains(words) == true, "\(refused)")
        }
        let edited = try await server.send(.patch, app, #"{"ignores_unknown_fields":true}"#)
        #expect(edited["ignores_unknown_fields"] == .bool(true), "\(edited)")
    }

    @Test func `an unknown field of a request is refused by name`() async throws {
        let server = try await TestAdminServer()
        let body = try await server.send(.post, "apps", #"{"name":"a","nmae":"b"}"#)
        #expect(body.status == 400)
        let words = "'nmae' is not a field of this request (is name meant?), which takes name, description, tenant_uuid"
        #expect(body.message?.hasPrefix(words) == true, "\(body)")
        let query = try await server.send(.get, "apps?limt=3")
        #expect(query.status == 400 && query.message?.contains("'limt'") == true)
        #expect(try await server.send(.get, "apps?limit=201").status == 400)
        #expect(try await server.send(.get, "apps?cursor=zz").status == 400)
        #expect(try await server.audited().isEmpty)
    }

    @Test func `an application is made, renamed, given new secrets and deleted`() async throws {
        let server = try await TestAdminServer()
        let created = try await server.send(.post, "apps", #"{"name":"shop"}"#)
        #expect(created.status == 201)
        let uuid = try #require(created["app_uuid"]?.stringValue)
        let key = try #require(created["api_key"]?.stringValue)
        // What the helper of the Android samples can read: hex of ASCII.
        let secret = try #require(created["shared_secret"]?.stringValue.flatMap { [UInt8](hex: $0.utf8) })
        #expect(
            secret.count == 32 && secret.allSatisfy { Character(UnicodeScalar($0)).isLetter || (0x30...0x39) ~= $0 })
        #expect(secret.allSatisfy { $0 < 0x80 })
        #expect(try await server.send(.patch, "apps/\(uuid)", #"{"name":"store"}"#)["name"] == .string("store"))
        let replaced = try await server.send(.post, "apps/\(uuid)/api-key")
        #expect(replaced["api_key"]?.stringValue.map { $0 != key } == true)
        #expect(try await server.send(.post, "apps/\(uuid)/shared-secret")["shared_secret"] != created["shared_secret"])
        #expect(try await server.send(.get, "apps/\(uuid)")["api_key"] == nil)
        #expect(try await server.send(.delete, "apps/\(uuid)").status == 204)
        #expect(try await server.send(.get, "apps/\(uuid)").status == 404)
        let log = try await server.send(.get, "audit")
        #expect(!log.text.contains(key))
        #expect(
            try await server.audited() == [
                "app.delete", "app.replace_shared_secret", "app.replace_api_key", "app.edit", "app.create",
            ])
    }

    @Test func `an object in use is deleted by force only`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let (app, platform) = (resources.application.uuid.lowercased, resources.platform.uuid.lowercased)
        #expect(try await server.send(.delete, "apps/\(app)").status == 409)
        #expect(try await server.send(.delete, "platforms/\(platform)").status == 409)
        #expect(try await server.send(.delete, "tenants/\(resources.tenant.uuid.lowercased)").status == 409)
        #expect(try await server.audited().isEmpty)
        #expect(try await server.send(.delete, "platforms/\(platform)?force=true").status == 204)
        #expect(try await server.send(.delete, "apps/\(app)?force=false").status == 204)
    }

    @Test func `credentials go in, are checked, and never come out`() async throws {
        let server = try await TestAdminServer()
        let app = try await server.resources("shop").application.uuid.lowercased
        let body = #"{"type":"ios","mode":"production","name":"phones","credentials":{"topic":"org.example.secret"}}"#
        let created = try await server.send(.post, "apps/\(app)/platforms", body)
        #expect(created.status == 201)
        let uuid = try #require(created["platform_uuid"]?.stringValue)
        #expect(created["platform_secret"] != nil)
        let refused = try await server.send(.put, "platforms/\(uuid)/credentials", #"{"credentials":{}}"#)
        #expect(refused.status == 400 && refused.message == "credentials.topic is missing")
        #expect(
            try await server.send(
                .put, "platforms/\(uuid)/credentials", #"{"credentials":{"topic":"org.example.secret2"}}"#
            ).status == 200)
        for reply in [
            created, try await server.send(.get, "platforms/\(uuid)"),
            try await server.send(.get, "apps/\(app)/platforms"), try await server.send(.get, "audit"),
        ] {
            #expect(!reply.text.contains("org.example.secret"))
        }
        let parked = try await server.send(.post, "platforms/\(uuid)/park", #"{"reason":"tests"}"#)
        #expect(parked["state"] == .string("parked"))
        #expect(parked.text.contains(#""cause":"operator""#))
        #expect(try await server.send(.post, "platforms/\(uuid)/resume")["state"] == .string("active"))
    }

    @Test func `credentials show their expiry, and a test shows its result`() async throws {
        let server = try await TestAdminServer(credentialsEnd: .seconds(86_400))
        let platform = try await server.resources("shop").platform.uuid.lowercased
        let shown = try await server.send(.get, "platforms/\(platform)")
        #expect(shown["credentials_expire_at"] == .string((server.clock.now + .seconds(86_400)).text))
        let tried = try await server.send(.post, "platforms/\(platform)/credentials/test")
        #expect(tried.status == 200 && tried["result"] == .string("works"), "\(tried)")
    }

    @Test func `a new push names its unknown topics and users`() async throws {
        let server = try await TestAdminServer()
        let path = "apps/\(try await server.resources("shop").application.uuid.lowercased)/pushes"
        let mistyped = try await server.send(
            .post, path, #"{"message":{"body":"hi"},"target":{"topics":["diary"],"custom_user_ids":["kin"]}}"#)
        #expect(mistyped.status == 201 && mistyped["unmatched"]?["topics"] == .array([.string("diary")]), "\(mistyped)")
        #expect(mistyped["unmatched"]?["custom_user_ids"] == .array([.string("kin")]), "\(mistyped)")
        let all = try await server.send(.post, path, #"{"message":{"body":"hi"},"target":{"everyone":true}}"#)
        #expect(all.status == 201 && all["unmatched"] == nil, "\(all)")
    }

    @Test func `a receipt names the dead node that held its push`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let node = NodeReport(uuid: UUID(), host: "one.example.org", version: "1")
        try await server.store.recordHeartbeat(node)
        let sent = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes",
            #"{"message":{"body":"hi"},"target":{"topics":["News"]}}"#)
        let path = "pushes/\(try #require(sent["receipt_id"]?.stringValue))"
        let start = server.clock.now
        #expect(
            try await !server.store.claimFanOuts(atMost: 10, lanes: Lane.allCases, for: .seconds(60)).isEmpty)
        #expect(try await server.send(.get, path)["waits"] == .array([]))
        server.clock.advance(by: .seconds(11))
        #expect(
            try await server.send(.get, path)["waits"]
                == .array([
                    .string(
                        "if node one.example.org, which has not been heard of since \(start.text), was sending some of the "
                            + "rest, another node sends that by \((start + .seconds(60)).text)")
                ]))
        let nodes = try await server.send(.get, "nodes")
        #expect(nodes.text.contains(#""silent_seconds":11"#) && nodes.text.contains(#""state":"up""#), "\(nodes)")
        try await server.store.recordHeartbeat(node)
        #expect(try await server.send(.get, path)["waits"] == .array([]))
    }

    @Test func `a push and its receipt show its target`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/pushes"
        for target in [
            "{}", #"{"platforms":["ios"]}"#, #"{"everyone":true,"topics":["a"]}"#, #"{"everyone":true,"topics":[]}"#,
            #"{"devices":["\#(UUID())"],"topics":["a"]}"#, #"{"devices":["x"]}"#, #"{"everyone":true,"tags":["a"]}"#,
        ] {
            let reply = try await server.send(.post, path, #"{"message":{"body":"hi"},"target":\#(target)}"#)
            #expect(reply.status == 400, "\(target): \(reply)")
        }
        let sent = try await server.send(
            .post, path, #"{"message":{"body":"hi"},"target":{"topics":["News"]},"urgency":"bulk"}"#)
        #expect(sent.status == 201)
        let id = try #require(sent["receipt_id"]?.stringValue)
        let receipt = try await server.send(.get, "pushes/\(id)")
        #expect(receipt["lane"] == .string("bulk"))
        #expect(receipt.text.contains(#""damaged_batches":0,"damaged_fan_outs":0"#))
        #expect(try await server.send(.post, "pushes/\(id)/write-off").text == #"{"devices":0,"fan_outs":0}"#)
        let cancel = "pushes/\(id)/cancel"
        let reader = try await server.key(.readOnly, .tenant(resources.tenant.key))
        #expect(try await server.send(.post, cancel, as: reader).status == 403)
        let none = #"{"devices":0,"devices_in_flight":0,"fan_outs":0}"#
        let cancelled = try await server.send(.post, cancel)
        #expect(cancelled.text == none.replacing("\"fan_outs\":0", with: "\"fan_outs\":1"))
        #expect(try await server.audited().first == "push.cancel")
        #expect(try await server.send(.post, cancel).text == none)
        #expect(receipt["accepted_at"] == .string(server.clock.now.text))
        let list = try await server.send(.get, "\(path)?limit=1")
        #expect(list.text.contains(id) && !list.text.contains(resources.push.receiptID.lowercased))
        let cursor = try #require(list["next_cursor"]?.stringValue)
        let rest = try await server.send(.get, "\(path)?limit=1&cursor=\(cursor)")
        #expect(rest.text.contains(resources.push.receiptID.lowercased))
        let later = try await server.send(
            .post, path,
            #"{"message":{"body":"hi"},"target":{"everyone":true},"send_at":"\#((server.clock.now + .seconds(60)).text)"}"#
        )
        let schedule = try #require(later["schedule_id"]?.stringValue)
        let schedules = "apps/\(resources.application.uuid.lowercased)/schedules"
        #expect(try await server.send(.get, schedules).text.contains(schedule))
        #expect(try await server.send(.delete, "\(schedules)/\(schedule)").status == 204)
        #expect(try await server.send(.delete, "\(schedules)/\(schedule)").status == 409)
    }

    @Test func `a receipt shows content, target and why devices wait`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/pushes"
        let message = #"{"body":"hi","custom":{"android":{"data":{"a":1}}}}"#
        let apple = #"{"apns":{"type":"background","priority":5,"payload":{"aps":{"content-available":1},"order":17}}}"#
        let counted = #"{"body":"Hi {{ user.name | default: 'you' }}","template":true,"badge":"+1"}"#
        for (message, target) in [
            (message, #"{"platforms":["ios"],"topics":["news"]}"#), (message, #"{"everyone":true}"#),
            (message, #"{"devices":["\#(resources.device.uuid.lowercased)"],"interactive_only":true}"#),
            (apple, #"{"custom_user_ids":["emma"]}"#), (counted, #"{"everyone":true}"#),
        ] {
            let sent = try await server.send(.post, path, #"{"message":\#(message),"target":\#(target)}"#)
            let id = try #require(sent["receipt_id"]?.stringValue, "\(sent)")
            let receipt = try await server.send(.get, "pushes/\(id)")
            let asked = try JSONValue(json: message.utf8)
            #expect(receipt["message"]?["body"] == asked["body"] && receipt["message"]?["custom"] == asked["custom"])
            for field in ["template", "badge"] { #expect(receipt["message"]?[field] == asked[field]) }
            for field in ["type", "priority", "payload"] {
                #expect(receipt["message"]?["apns"]?[field] == asked["apns"]?[field])
            }
            #expect(receipt["target"] == (try JSONValue(json: target.utf8)))
            #expect(receipt["connection_faults"] == .array([]))
            let list = try await server.send(.get, path)
            #expect(!list.text.contains(#""message""#) && !list.text.contains(#""target""#))
        }
        let reader = try await server.key(.readOnly, .application(resources.application.key, of: resources.tenant.key))
        let shown = try await server.send(.get, "pushes/\(resources.push.receiptID.lowercased)", as: reader)
        #expect(shown["message"]?["body"] == .string("hello"))
    }

    @Test func `a push shows its results by platform, deleted ones too`() async throws {
        let server = try await TestAdminServer()
        let application = try await server.store.create(.numbered(7))
        let platform = try await server.store.create(.numbered(7, of: application.key))
        let other = try await server.store.create(.numbered(8, of: application.key))
        for number in 1...3 { _ = try await server.store.register(.sample(UInt8(number)), as: nil, on: platform) }
        let bad = try await server.store.register(.sample(4), as: nil, on: other).key
        let sent = try await PushService(store: server.store).send(
            PushRequest(content: Push.Content(body: "hi"), target: try Target()), for: application.key)
        let path = "pushes/\(sent.receiptID.lowercased)/platforms"
        try await server.store.deliver { batch, device in
            if device == bad { return .refused(.badToken) }
            return device == batch.devices[1] ? .gone : .accepted
        }
        func counts() async throws -> [Admin.PlatformCountsReply.Counts] {
            let reply = try await server.send(.get, path)
            return try JSONDecoder().decode(Admin.PlatformCountsReply.self, from: Data(reply.text.utf8)).platforms
        }
        let both = try await counts()
        #expect(both.map(\.devices) == [3, 1] && both.first?.counts == ["accepted": 2, "gone": 1])
        #expect(both.last?.platform_uuid == other.uuid.lowercased)
        try await server.store.delete(other.key, force: true)
        let rest = try await counts().last
        #expect(rest?.platform_uuid == nil && rest?.type == nil && rest?.name == nil)
        #expect(rest?.devices == 1 && rest?.counts == ["refused: badToken": 1])
    }

    @Test func `devices are searched, tested and deactivated`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let devices = "apps/\(resources.application.uuid.lowercased)/devices"
        let uuid = resources.device.uuid.lowercased
        #expect(try await server.send(.get, "\(devices)?topic=news").text.contains(uuid))
        #expect(try await !server.send(.get, "\(devices)?q=nobody").text.contains(uuid))
        let push = try await server.send(.post, "\(devices)/\(uuid)/test-push")
        let receipt = try #require(push["receipt_id"]?.stringValue.flatMap(UUID.init(uuidString:)))
        let kept = try #require(try await server.store.receipt(receipt))
        #expect(kept.push.lane == .urgent)
        #expect(try await server.send(.post, "\(devices)/\(uuid)/deactivate").status == 204)
        #expect(try await server.send(.get, "\(devices)/\(uuid)")["active"] == .bool(false))
        let other = try await server.send(
            .post, "apps/\(resources.application.uuid.lowercased)/pushes",
            #"{"message":{"body":"hi"},"target":{"devices":["\#(UUID().lowercased)"]}}"#)
        let story = try await server.send(
            .get, "pushes/\(try #require(other["receipt_id"]?.stringValue))/devices/\(uuid)")
        #expect(
            story.status == 404 && story.text.contains("not in the audience of this push: it is inactive"), "\(story)")
    }

    @Test func `an erased device is gone and its erasure is audited`()
        async throws
    {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let device = "apps/\(resources.application.uuid.lowercased)/devices/\(resources.device.uuid.lowercased)"
        let named = try await server.send(
            .patch, device, #"{"custom_user_id":"emma","device_alias":"Emmas phone"}"#)
        #expect(named.text.contains("emma") && named.text.contains("Emmas phone"), "\(named.text)")
        #expect(try await server.send(.delete, device).status == 204)
        #expect(try await server.send(.get, device).status == 404)
        let rest = try await server.send(.get, "apps/\(resources.application.uuid.lowercased)/devices")
        #expect(!rest.text.contains("mma"), "\(rest.text)")
        #expect(try await server.audited().first == "device.erase")
        #expect(try await server.send(.delete, device).status == 404)
    }

    @Test func `a test push reports the provider's verdict to its caller`() async throws {
        var server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/devices/\(resources.device.uuid.lowercased)/test-push"
        let message = #""message":{"body":"Hi","custom":{"ios":{"badge":7}}}"#
        let sent = try await server.send(
            .post, path, #"{\#(message),"urgency":"bulk","at_most_once":true}"#)
        let id = try #require(sent["receipt_id"]?.stringValue.flatMap(UUID.init(uuidString:)), "\(sent)")
        let key = try #require(try await server.store.receipt(id)).push.key
        let push = try #require(try await server.store.push(key))
        #expect(push.lane == .bulk && push.content.custom["ios"]?["badge"] == .integer(7))
        #expect(push.guarantee == .atMostOnce && sent["answer"] == nil)
        for (body, words) in [
            (#"{\#(message),"body":"x"}"#, "body and message exclude each other"),
            (#"{\#(message),"target":{"everyone":true}}"#, "'target' is not a field of this request"),
        ] {
            let refused = try await server.send(.post, path, body)
            #expect(refused.status == 400 && refused.message?.hasPrefix(words) == true, "\(refused)")
        }

        server.routes = server.routes(verdictDeadline: .zero)
        #expect(try await server.send(.post, path, #"{"wait":true}"#)["answer"] == .string("pending"))
        server.routes = server.routes(verdictDeadline: .seconds(30))
        let patient = server
        async let waiting = patient.send(.post, path, #"{\#(message),"wait":true}"#)
        try await server.answer(.refused(.badToken), to: resources.device, after: push.key)
        #expect(try await waiting["answer"] == .string("refused: badToken"))
    }

    @Test func `a schedule is shown whole and changed until sent`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)"
        let due = (server.clock.now + .seconds(60)).text
        let made = try await server.send(
            .post, "\(path)/pushes",
            #"{"message":{"body":"hi","custom":{"ios":{"badge":1}}},"target":{"topics":["news"],"platforms":["ios"]},"#
                + #""send_at":"\#(due)","urgency":"bulk"}"#)
        let schedule = "\(path)/schedules/\(try #require(made["schedule_id"]?.stringValue, "\(made)"))"
        let shown = try await server.send(.get, schedule)
        #expect(shown["message"] == (try JSONValue(json: #"{"body":"hi","custom":{"ios":{"badge":1}}}"#.utf8)))
        #expect(shown["target"] == (try JSONValue(json: #"{"topics":["news"],"platforms":["ios"]}"#.utf8)))
        #expect(shown["due_at"] == .string(due) && shown["urgency"] == .string("bulk"))
        #expect(shown["at_most_once"] == .bool(false) && shown["state"] == .string("waiting"))

        let later = (server.clock.now + .seconds(120)).text
        let changed = try await server.send(
            .patch, schedule, #"{"send_at":"\#(later)","target":{"everyone":true},"at_most_once":true}"#)
        #expect(changed.status == 200 && changed["due_at"] == .string(later), "\(changed)")
        #expect(changed["message"] == shown["message"] && changed["urgency"] == .string("bulk"))
        #expect(changed["target"] == .object(["everyone": .bool(true)]) && changed["at_most_once"] == .bool(true))
        #expect(try await server.send(.get, schedule).json == changed.json)
        #expect(try await server.audited().contains("schedule.update"))
        for (body, status) in [(#"{"state":"sent"}"#, 400), (#"{"message":{}}"#, 400), (#"{}"#, 200)] {
            #expect(try await server.send(.patch, schedule, body).status == status)
        }
        let reader = try await server.key(.readOnly, .tenant(resources.tenant.key))
        #expect(try await server.send(.patch, schedule, as: reader, "{}").status == 403)
        #expect(try await server.send(.delete, schedule).status == 204)
        #expect(try await server.send(.patch, schedule, "{}").status == 409)
    }

    @Test func `the audit log is read by application, key and time`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let app = resources.application.uuid.lowercased
        let admin = try await server.key(.tenantAdmin, .tenant(resources.tenant.key))
        _ = try await server.send(.patch, "apps/\(app)", as: admin, #"{"name":"store"}"#)
        server.clock.advance(by: .seconds(10))
        _ = try await server.send(.post, "tenants", #"{"name":"other"}"#)
        let all = try await server.send(.get, "audit")
        #expect(all.text.contains("app.edit") && all.text.contains("tenant.create"))
        let id = try #require(AdminKey.Text(admin)).id
        let until = (server.clock.now + .seconds(-1)).text
        for query in ["app_uuid=\(app)", "key_id=\(id.uppercased())", "until=\(until)"] {
            let some = try await server.send(.get, "audit?\(query)")
            #expect(some.text.contains("app.edit") && !some.text.contains("tenant.create"), "\(query): \(some)")
        }
        #expect(try await !server.send(.get, "audit", as: admin).text.contains("tenant.create"))
        let sender = try await server.key(.sender, .tenant(resources.tenant.key))
        #expect(try await server.send(.get, "audit", as: sender).status == 403)
    }
}
