import Testing

@testable import BelfryService

/// Errors for a person whose SDK or sender asks for a path that leads nowhere.
@Suite struct WrongPathTests {
    @Test(
        arguments: [
            // A service URL with a path in it.
            ("/push/v1/registration", "take '/push' out of the service URL"),
            ("/api/push/v1/registration/count", "so that it asks for '/v1/registration/count'"),
            ("/dashboard/v1/push", "take '/dashboard' out of the service URL"),
            ("/push/v2/registrations", "so that it asks for '/v2/registrations'"),
            ("/belfry/admin/v1/apps", "take '/belfry' out"), ("/belfry/admin/v1/apps", "asks for '/admin/v1/apps'"),
            // A service URL that ends in a version.
            ("/v1/v1/registration", "The version stands twice"), ("/v1/v1/registration", "asks for '/v1/registration'"),
            ("//v1//v2/topics/", "take '/v1' out of the service URL"),
            // The dashboard's address.
            ("/console", "stands at '/dashboard'"), ("/login", "without '/login'"),
            // No version, or another.
            ("/registration", "Did you mean '/v1/registration'?"), ("/push", "Did you mean '/v1/push'?"),
            ("/registrations", "Did you mean '/v2/registrations'?"), ("/v1/registrations", "mean '/v2/registrations'?"),
            ("/v2/registration/count", "mean '/v1/registration/count'?"), ("/v2/push", "mean '/v1/push'?"),
            ("/v2/schedules/ab", "mean '/v1/schedules/ab'?"), ("/v2/geofences", "mean '/v1/geofences'?"),
            ("/v2/analytics", "mean '/v1/analytics'?"), ("/locations/7", "mean '/v1/locations/7'?"),
            ("/location_groups", "mean '/v1/location_groups'?"), ("/v2/tags", "mean '/v1/tags'?"),
            // The wrong number, capitals, other names.
            ("/v1/location", "mean '/v1/locations'?"), ("/v1/location_group/7", "mean '/v1/location_groups/7'?"),
            ("/v2/topic/7", "mean '/v2/topics/7'?"), ("/v1/tag/x", "mean '/v1/tags/x'?"),
            ("/v1/pushes", "mean '/v1/push'?"),
            ("/V1/Registration", "mean '/v1/registration'?"), ("/v1/devices", "mean '/v2/registrations'?"),
            ("/health", "mean '/healthcheck'?"), ("/v1/health", "mean '/healthcheck'?"),
            // The admin API.
            ("/admin", "stands at '/admin/v1'"), ("/admin/v1/nothing", "stands at '/admin/v1'"),
            // Nothing to go by.
            ("/v1", "SDKs register at '/v1/registration'"), ("/v1/nothing", "'/openapi.yaml' lists every path"),
            ("/v1/registration/a/b", "SDKs register"), ("/", "SDKs register"), ("", "SDKs register"),
            ("/%00%ff", "SDKs register"),
        ] as [(String, String)])
    func `a path that leads nowhere says what may be wrong`(path: String, hint: String) {
        let explained = WrongPath.explained(path)
        #expect(explained.contains(hint), "\(explained)")
    }

    /// The paths differ by a letter, the credentials by their kind.
    @Test(arguments: [
        ("/v1/geofence", "platform", "'/v1/geofences', with platform_uuid:platform_secret"),
        ("/v1/geofence/7", "platform", "'/v1/geofences', with platform_uuid:platform_secret"),
        ("/v1/geofences", "application", "'/v1/geofence', with application_uuid:api_key"),
        ("/v1/registration", "application", "'/v2/registrations', with application_uuid:api_key"),
        ("/v2/registrations", "platform", "'/v1/registration', with platform_uuid:platform_secret"),
    ])
    func `the wrong kind of credentials gets a pointer`(
        path: String, kind: String, hint: String
    ) async throws {
        try await RecordedServer.open { server in
            let credentials = kind == "platform" ? try server.device(.ios) : server.sender
            let method = path == "/v1/registration" ? "POST" : "GET"
            let answer = try await server.exchange(
                ExampleRequest.sent("\(method) \(path)", credentials, "{}"), 401, .error)
            #expect(answer?["message"]?.string?.contains(hint) == true)
        }
    }
}
