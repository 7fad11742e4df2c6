import FoundationEssentials

/// The endpoints of a device, on its page.
struct WebPushEndpointPages {
    let make: RouteMaker

    var routes: [PageRoute] { [make.device(.post, "/endpoints/:endpoint_id/revoke", .change, revoke)] }

    /// nil for a device without endpoints.
    static func section(
        _ visit: DashboardRequest, _ device: Device, _ application: Application
    ) async throws -> Section? {
        let endpoints = try await visit.services.store.webPushEndpoints(of: device)
        guard !endpoints.isEmpty else { return nil }
        return section(
            endpoints, device, application, mayChange: visit.may(.change, Permission.Subject(application)))
    }

    static func section(
        _ endpoints: [WebPushEndpoint], _ device: Device, _ application: Application, mayChange: Bool
    ) -> Section {
        Section(
            "Web Push endpoints",
            text: "URLs to which application servers such as Mastodon post what only the app can read."
        ) {
            Table(
                "Web Push endpoints", ["Endpoint", "Its messages", "Application server", "Made"],
                endpoints.map { endpoint in
                    [
                        [.text("\(endpoint.key)")],
                        [.text(endpoint.isFetched ? "wait until the app fetches them" : "are pushed")],
                        [.text(endpoint.vapidKey == nil ? "any with the URL" : "the one with its VAPID key")],
                        [.time(endpoint.createdAt)],
                    ]
                },
                forms: endpoints.map { endpoint in
                    guard mayChange else { return [] }
                    let path = "\(device.address(in: application))/endpoints/\(endpoint.key)/revoke"
                    return [.button(path, "Revoke", isDanger: true)]
                }, empty: "None.")
        }
    }

    @Sendable private func revoke(
        _ visit: DashboardRequest, _ device: Device, _ platform: Platform, _ application: Application
    ) async throws -> PageAnswer {
        let home = device.address(in: application)
        let id = visit.text("endpoint_id")
        let question = visit.question(
            "Revoke endpoint \(id)?",
            "What waits there is deleted, and application servers that have its URL get 404. The app has to ask for another.",
            [Fact("Device", .text(device.label))], yes: "Revoke it", no: home)
        if let question { return question }
        guard let key = Int64(id).map({ Key<WebPushEndpoint>($0) }) else { throw APIError.missing("endpoint") }
        try await visit.services.all.webPushEndpoints.delete(key, of: device, in: application, by: visit.author)
        return .redirect(Address.query(home, [("done", "revoked")]))
    }
}
