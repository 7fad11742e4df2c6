import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Tenants cannot see each other: every route there is, with every key of another tenant.
@Suite struct IsolationTests {
    /// Bodies that a route would take from the owner, by method and path; others take none.
    private static let bodies: [String: String] = [
        "PATCH tenants/:tenant_uuid": #"{"name":"taken"}"#,
        "PATCH people/:person_id": #"{"role":"read-only","tenant_uuid":"TENANT"}"#,
        "PATCH apps/:app_uuid": #"{"name":"taken"}"#,
        "POST apps/:app_uuid/platforms":
            #"{"type":"ios","mode":"production","name":"taken","credentials":{"topic":"org.example.taken"}}"#,
        "PATCH platforms/:platform_uuid": #"{"name":"taken"}"#,
        "PUT platforms/:platform_uuid/credentials": #"{"credentials":{"topic":"org.example.taken"}}"#,
        "PUT platforms/:platform_uuid/web": #"{"origins":["https://taken.example"]}"#,
        "POST apps/:app_uuid/pushes": #"{"message":{"body":"taken"},"target":{"everyone":true}}"#,
        "POST pushes/:receipt_id/update": #"{"message":{"body":"taken"}}"#,
        "POST platforms/:platform_uuid/channels": #"{"storage":"latest"}"#,
        "POST apps/:app_uuid/topics": #"{"name":"taken"}"#,
        "POST apps/:app_uuid/audience/count": #"{"where":"everyone"}"#,
        "POST apps/:app_uuid/audience/sample": #"{"where":"everyone"}"#,
        "POST apps/:app_uuid/encryption-keys": #"{"where":"everyone"}"#,
        "POST apps/:app_uuid/segments": #"{"name":"taken","where":"everyone"}"#,
        "PATCH apps/:app_uuid/segments/:segment": #"{"where":"imported"}"#,
        "POST apps/:app_uuid/templates": #"{"name":"taken","message":{"body":"taken"}}"#,
        "PATCH apps/:app_uuid/templates/:template": #"{"message":{"body":"taken"}}"#,
        "POST apps/:app_uuid/templates/:template/preview": #"{"where":"everyone"}"#,
        "POST apps/:app_uuid/campaigns": #"{"name":"taken","message":{"body":"taken"},"target":{"everyone":true}}"#,
        "PATCH apps/:app_uuid/campaigns/:campaign": #"{"labels":["taken"]}"#,
        "PATCH apps/:app_uuid/topics/:topic": #"{"expires_at":null}"#,
        "PATCH apps/:app_uuid/devices/:device_uuid": #"{"device_alias":"taken"}"#,
        "POST apps/:app_uuid/devices": #"{"platform_uuid":"PLATFORM","registration_token":"ab"}"#,
        "POST apps/:app_uuid/locations": #"{"name":"taken","latitude":1,"longitude":1,"radius":100}"#,
        "PATCH apps/:app_uuid/locations/:location_id": #"{"name":"taken"}"#,
        "POST apps/:app_uuid/location-groups": #"{"name":"taken"}"#,
        "PATCH apps/:app_uuid/location-groups/:group_id": #"{"name":"taken"}"#,
        "PATCH apps/:app_uuid/users/:user_id": #"{"language":"fr"}"#,
        "POST apps/:app_uuid/users/:user_id/merge": #"{"into":"taken"}"#,
        "POST apps/:app_uuid/webhooks": #"{"name":"taken","url":"https://taken.example/","kinds":["*"]}"#,
        "PATCH apps/:app_uuid/webhooks/:webhook_uuid": #"{"name":"taken"}"#,
        "POST apps/:app_uuid/webhooks/:webhook_uuid/replay": #"{"since":"2001-01-01T00:00:00Z"}"#,
        "PUT apps/:app_uuid/feed": #"{"kinds":["*"]}"#,
        "POST apps/:app_uuid/open-endpoints": #"{"kind":"genero"}"#,
        "POST platforms/:platform_uuid/gateway-credentials":
            #"{"fingerprint":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}"#,
        "POST apps/:app_uuid/acrobits/reporters": #"{"template":"?token=%pushToken%"}"#,
        "POST apps/:app_uuid/acrobits/mediator": #"{"allowed":["10.0.0.0/8"]}"#,
        "POST apps/:app_uuid/acrobits/app-ids": #"{"app_id":"taken","platform_uuid":"PLATFORM"}"#,
        "PATCH apps/:app_uuid/schedules/:schedule_id": #"{"urgency":"bulk"}"#,
        "PATCH apps/:app_uuid/geofences/:geofence_id": #"{"trigger":"exit"}"#,
        "POST apps/:app_uuid/geofences":
            #"{"location_ids":[1],"trigger":"enter","expires_at":"2099-01-01T00:00:00Z"}"#,
    ]

    private static func body(of route: String, for resources: TestAdminServer.TestResources) -> String? {
        bodies[route]?.replacing("PLATFORM", with: resources.platform.uuid.lowercased)
            .replacing("TENANT", with: resources.tenant.uuid.lowercased)
    }

    /// Routes whose path names nothing, with what another's key has to get there, and what it tries.
    private static let open: [String: (statuses: [Int], body: @Sendable (TestAdminServer.TestResources) -> String?)] = [
        "GET tenants": ([200], { _ in nil }),
        "POST tenants": ([403], { _ in #"{"name":"taken"}"# }),
        "GET keys": ([200, 403], { _ in nil }),
        "POST keys": (
            [403, 404], { #"{"name":"taken","scope":"sender","tenant_uuid":"\#($0.tenant.uuid.uuidString)"}"# }
        ),
        "GET people": ([200, 403], { _ in nil }),
        "GET apps": ([200], { _ in nil }),
        "POST apps": ([403, 404], { #"{"name":"taken","tenant_uuid":"\#($0.tenant.uuid.uuidString)"}"# }),
        "GET audit": ([200, 403], { _ in nil }),
        "GET nodes": ([403], { _ in nil }),
        "GET server/settings": ([403], { _ in nil }), "GET server/database": ([403], { _ in nil }),
        "GET server/log": ([403], { _ in nil }),
        "GET carma/accounts": ([403], { _ in nil }),
        "POST carma/accounts": (
            [403], { _ in #"{"customer_id":9,"user":"taken","password":"long enough"}"# }
        ),
        "GET carma/apps": ([403], { _ in nil }),
        "POST carma/apps": (
            [403], { #"{"customer_id":9,"app_id":"taken","app_uuid":"\#($0.application.uuid.lowercased)"}"# }
        ),
        "GET carma/triggers": ([403], { _ in nil }),
        "POST carma/triggers": (
            [403],
            { #"{"customer_id":7,"app_id":"\#($0.carmaApp.appID)","template":{"languages":{"en":{"alert":"taken"}}}}"# }
        ),
    ]

    private func strangers(_ server: TestAdminServer) async throws -> [String] {
        let tenant = try await server.store.create(NewTenant(uuid: .init(), name: try Name("stranger")))
        let own = try await server.resources("own", of: tenant.key)
        let application = AdminKey.Bounds.application(own.application.key, of: tenant.key)
        var keys: [String] = []
        for (scope, bounds) in [
            (.tenantAdmin, .tenant(tenant.key)), (.appAdmin, application), (.sender, .tenant(tenant.key)),
            (.sender, application), (.readOnly, .tenant(tenant.key)), (.readOnly, application),
        ] as [(AdminKey.Scope, AdminKey.Bounds)] {
            keys.append(try await server.key(scope, bounds))
        }
        return keys
    }

    /// All that a stranger could have changed. The time at which keys were used last changes with each request.
    private static func state(of store: SQLiteStore) async throws -> [String: [[BulkValue]]] {
        var state = try await store.dump()
        state["admin_key"] = [
            [.integer(Int64(try await store.number("SELECT count(*) FROM admin_key WHERE revoked_at_ms IS NULL")))]
        ]
        return state
    }

    @Test func `no route shows or changes anything of another tenant`() async throws {
        let server = try await TestAdminServer()
        let victim = try await server.resources("victim")
        let keys = try await strangers(server)
        let before = try await Self.state(of: server.store)
        var tried = 0
        for route in server.routes.routes {
            let name = "\(route.method) \(route.path)"
            let path = try victim.fill(route.path)
            let isOpen = !route.path.contains(":")
            let open = Self.open[name]
            #expect(isOpen == (open != nil), "\(name) is a new path that names nothing: say what others get there")
            let body = isOpen ? open?.body(victim) : Self.body(of: name, for: victim)
            for key in keys {
                let reply = try await server.send(route.method, path, as: key, body)
                let expected = open?.statuses ?? [404]
                #expect(expected.contains(reply.status), "\(name): \(reply)")
                #expect(!victim.marks.contains { reply.text.contains($0) && !path.contains($0) }, "\(name): \(reply)")
                tried += 1
            }
        }
        #expect(tried == keys.count * server.routes.routes.count)
        let after = try await Self.state(of: server.store)
        #expect(after == before)
    }

    /// So that the test above cannot pass because nothing works: the same requests by the owner are not refused.
    @Test func `the owner is served at every route`() async throws {
        for route in try await TestAdminServer().routes.routes {
            let server = try await TestAdminServer()
            let resources = try await server.resources("own")
            let name = "\(route.method) \(route.path)"
            let body =
                route.path.contains(":") ? Self.body(of: name, for: resources) : Self.open[name]?.body(resources)
            var path = try resources.fill(route.path)
            if route.path.hasSuffix("devices/:device_uuid"), route.path.hasPrefix("pushes") { continue }
            if route.method == .delete, ["apps/:app_uuid", "platforms/:platform_uuid"].contains(route.path) {
                path += "?force=true"
            }
            if route.path.contains("/imports"), route.method != .get { path += "?format=jsonl" }
            if Schedule.Change.Verb.allCases.contains(where: { route.path.hasSuffix("/\($0.rawValue)") }) {
                let daily = try Recurrence(
                    rule: RecurrenceRule("FREQ=DAILY", field: "rule"),
                    start: LocalTime("2023-01-01T09:00", field: "start"), zone: ZoneInfo("UTC", field: "zone"))
                let key = resources.schedule.key
                #expect(
                    try await server.store.change(key, of: resources.application.key, .init(recurrence: daily)) != nil)
            }
            if name == "POST apps/:app_uuid/webhooks/:webhook_uuid/resume" {
                _ = try await server.store.set(.asked, on: resources.webhook.webhook.key)
            }
            if name == "POST pushes/:receipt_id/update" { try await server.store.deliver { _, _ in .accepted } }
            let reply = try await server.send(route.method, path, body)
            // A location in use, a geofence of none, the first tenant, web pages of an iPhone, a draft: refused for what they are, not
            // for who asks.
            let refused = [
                "DELETE tenants/:tenant_uuid": 409, "DELETE apps/:app_uuid/locations/:location_id": 409,
                "PUT platforms/:platform_uuid/web": 400, "POST apps/:app_uuid/campaigns/:campaign/stop": 409,
                "POST apps/:app_uuid/campaigns/:campaign/test": 400,
            ]
            let expected = refused[name].map { [$0] } ?? [200, 201, 204]
            if name == "POST apps/:app_uuid/geofences" { continue }
            #expect(expected.contains(reply.status), "\(name): \(reply)")
            // A question about an audience changes nothing, nor does a preview.
            let asks =
                route.path.contains("/audience/") || route.path.hasSuffix("/preview")
                || route.path.hasSuffix("/encryption-keys")
            if route.method != .get, reply.status < 300, !asks {
                let audited = try await server.audited()
                #expect(audited.count == 1, "\(name) left \(audited)")
            }
        }
    }

    @Test func `no route answers without a valid key`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("own")
        let wrong = AdminKey.Text(id: resources.key.id, secret: String(repeating: "0", count: 64)).text
        for route in server.routes.routes {
            let path = try resources.fill(route.path)
            for header in [nil, "Bearer", "Bearer x", "Bearer \(wrong)", "Basic \(server.operator)"] {
                let reply = try await server.exchange(route.method, path, authorization: header)
                #expect(reply.status == 401 || reply.status == 429)
                if reply.status == 401 { #expect(reply.headers[.wwwAuthenticate] == #"Bearer realm="Belfry""#) }
            }
        }
    }
}
