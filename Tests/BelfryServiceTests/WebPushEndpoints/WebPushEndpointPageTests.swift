import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Endpoints in the dashboard and the admin API.
@Suite struct WebPushEndpointPageTests {
    @Test func `a device's page shows endpoints and revokes them`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let app = "/apps/\(contents.application.uuid.lowercased)"
        let path = "\(app)/devices/\(contents.device.uuid.lowercased)"
        for endpoint in try await dashboard.store.webPushEndpoints(of: contents.device) {
            #expect(try await dashboard.store.delete(endpoint.key, of: contents.device))
        }
        #expect(try await !browser.get(path).contains("Web Push endpoints"))
        let endpoint = try await dashboard.store.create(
            NewWebPushEndpoint(), keyHash: SecretHash.of("other"), for: contents.device, of: contents.application.key)
        let page = try await browser.get(path)
        #expect(page.contains("Web Push endpoints") && page.contains("any with the URL"))
        let revoke = "\(path)/endpoints/\(endpoint.key)/revoke"
        let question = try await browser.post(revoke)
        #expect(question.status == .ok && question.contains("Revoke endpoint \(endpoint.key)?"))
        #expect(try await dashboard.store.webPushEndpoints(of: contents.device).count == 1)
        #expect(try await browser.post(revoke, [("confirmed", "yes")]).location.hasSuffix("?done=revoked"))
        #expect(try await dashboard.store.webPushEndpoints(of: contents.device).isEmpty)
        #expect(try await dashboard.store.auditLog().last?.change.action == "web_push_endpoint.delete")
        #expect(try await browser.get("\(path)?done=revoked").contains("The endpoint is revoked."))
        #expect(try await browser.post(revoke, [("confirmed", "yes")]).status == .notFound)
        let reader = try await dashboard.browser(
            "reader@a.example", .readOnly, .application(contents.application.key, of: contents.application.tenantKey))
        #expect(try await reader.post(revoke, [("confirmed", "yes")]).status == .forbidden)
    }

    @Test func `an application's settings switch endpoints on`() async throws {
        let dashboard = try TestDashboard()
        let contents = try await TestContents(dashboard, text: "dairy")
        let browser = try await dashboard.browser("root@a.example")
        let path = "/apps/\(contents.application.uuid.lowercased)/settings"
        let page = try await browser.get(path)
        #expect(page.contains("Web Push endpoints") && page.contains("on, VAPID demanded"))
        _ = try await browser.post(path, [("name", "dairy"), ("web_push_endpoints", "vapid")])
        let application = try await dashboard.store.application(contents.application.uuid)
        #expect(application?.deliveryRules.webPush == .vapid)
        #expect(try await dashboard.store.auditLog().last?.change.details["web_push_endpoints"] == "vapid")
    }

    @Test func `an operator makes an endpoint for a device`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let app = "apps/\(resources.application.uuid.lowercased)"
        let path = "\(app)/devices/\(resources.device.uuid.lowercased)/endpoints"
        try await server.store.edit(resources.application.key, ApplicationEdit(webPush: .off))
        #expect(try await server.send(.post, path).status == 403, "it is off")
        let wrong = try await server.send(.patch, app, #"{"web_push_endpoints":"yes"}"#)
        #expect(wrong.status == 400 && wrong.text.contains("off, on, vapid"), "\(wrong)")
        let edited = try await server.send(.patch, app, #"{"web_push_endpoints":"on"}"#)
        #expect(edited["web_push_endpoints"] == .string("on"), "\(edited)")
        let made = try await server.send(.post, path, #"{"delivery":"fetch"}"#)
        #expect(made.status == 201 && made["path"]?.stringValue?.hasPrefix("/wp/") == true, "\(made)")
        let listed = try await server.send(.get, path)
        #expect(listed.status == 200 && listed.text.contains("fetch") && !listed.text.contains("/wp/"))
        let id = try #require(made["endpoint_id"]?.wholeNumber)
        #expect(try await server.send(.delete, "\(path)/\(id)").status == 204)
        #expect(try await server.send(.delete, "\(path)/\(id)").status == 404)
        let actions = try await server.audited()
        #expect(actions.prefix(2) == ["web_push_endpoint.delete", "web_push_endpoint.create"], "\(actions)")
        // Pushes do not carry a setting that only endpoints heed.
        let push = try await PushService(store: server.store).send(
            PushRequest(content: Push.Content(body: "Hi"), target: .everyone), for: resources.application.key)
        #expect(!push.content.storedText.contains("web_push"))
    }
}
