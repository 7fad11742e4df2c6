/// The features, listed where the service puts them together: a new one adds a line to each list that concerns it. Its command is in the
/// list of `Belfry.swift`.
extension Schema {
    static let parts = [
        registry, topics, devices, searchIndex, pushes, deliveryNotes, schedules, locations, geofences, counts,
        adminKeys, broker, audit, idempotency, node, commandCount, mirror, imports, users, openEndpoints, acrobits,
        carma, dashboard,
    ]

    /// The steps after the first, in the order of their numbers.
    static let migrations: [any SchemaMigration.Type] = [
        CredentialFactsMigration.self, LinkAndKeyAuthors.self, PlainEndpointMigration.self, NormalizedNames.self,
        UnknownFieldsMigration.self, ProbesMigration.self, NamesWithoutBlanks.self, ComposeDraftMigration.self,
        RecurrenceMigration.self, SegmentMigration.self, TemplateMigration.self, DeviceReportMigration.self,
        PacingMigration.self, CampaignMigration.self, StartedScheduleMigration.self, FollowUpMigration.self,
        ReminderMigration.self, PersonZoneMigration.self, ActivityMigration.self, OpeningMigration.self,
        EndpointKindMigration.self, WebPushMigration.self, EncryptionKeyMigration.self, WebhookMigration.self,
        RegistryIndexMigration.self, GeofenceEndMigration.self,
    ]
}

extension Admin.RouteFactory {
    /// The routes of all resources except the event stream.
    var routes: [Admin.Route] {
        Admin.Tenants(factory: self).routes + Admin.Keys(factory: self).routes + Admin.People(factory: self).routes
            + Admin.Apps(factory: self).routes
            + Admin.Platforms(factory: self).routes + Admin.Channels(factory: self).routes
            + Admin.Devices(factory: self).routes + Admin.EncryptionKeysOfDevices(factory: self).routes
            + Admin.Audiences(factory: self).routes
            + Admin.Segments(factory: self).routes + Admin.Templates(factory: self).routes
            + Admin.Campaigns(factory: self).routes
            + Admin.Pushes(factory: self).routes
            + Admin.Topics(factory: self).routes + Admin.Schedules(factory: self).routes
            + Admin.Locations(factory: self).routes + Admin.LocationGroups(factory: self).routes
            + Admin.Geofences(factory: self).routes + Admin.Analytics(factory: self).routes
            + Admin.AuditLog(factory: self).routes + Admin.Nodes(factory: self).routes
            + Admin.Quotas(factory: self).routes + Admin.Imports(factory: self).routes
            + Admin.Users(factory: self).routes + Admin.OpenEndpoints(factory: self).routes
            + Admin.GatewayCredentials(factory: self).routes + Admin.AcrobitsPhones(factory: self).routes
            + Admin.CarmaCustomers(factory: self).routes + Admin.GeneroTokens(factory: self).routes
            + Admin.WebPushEndpoints(factory: self).routes
            + Admin.Webhooks(factory: self).routes + Admin.Feed(factory: self).routes
    }
}

extension RouteMaker {
    /// The pages of the dashboard.
    var pages: [PageRoute] {
        OverviewPages(make: self).routes + ApplicationPages(make: self).routes
            + PlatformPages(make: self).routes + ChannelPages(make: self).routes + DevicePages(make: self).routes
            + ComposePages(make: self).routes
            + PushPages(make: self).routes + SchedulePages(make: self).routes + TopicPages(make: self).routes
            + TemplatePages(make: self).routes + CampaignPages(make: self).routes
            + SegmentPages(make: self).routes
            + UserPages(make: self).routes + AnalyticsPages(make: self).routes + PlacePages(make: self).routes
            + GroupPages(make: self).routes + GeofencePages(make: self).routes
            + ImportPages(make: self).routes + TokenGatewayPages(make: self).routes + LogPages(make: self).routes
            + PeoplePages(make: self).routes
            + TenantPages(make: self).routes + ServerPages(make: self).routes + ServerLogPages(make: self).routes
            + KeyPages(make: self).routes + AuditPages(make: self).routes
            + AccountPages(make: self).routes + SearchPages(make: self).routes
            + WebPushEndpointPages(make: self).routes + WebhookPages(make: self).routes
    }
}

extension Shell {
    /// The menus of an application, by what people do there: names of pages, with their paths below the application's.
    static let menu: [(String, [(String, String)])] = [
        ("Application", [("Summary", "")]),
        (
            "Send",
            [
                ("Compose", "compose"), ("Pushes", "pushes"), ("Schedules", "schedules"), ("Campaigns", "campaigns"),
                ("Templates", "templates"),
            ]
        ),
        (
            "Audience",
            [
                ("Devices", "devices"), ("Users", "users"), ("Topics", "topics"), ("Segments", "segments"),
                ("Places", "places"),
            ]
        ),
        ("Insights", [("Analytics", "analytics"), ("Live log", "logs")]),
        (
            "Set-up",
            [
                ("First steps", "setup"), ("Platforms", "platforms"), ("Import", "import"), ("Gateways", "gateways"),
                ("Webhooks", "webhooks"), ("Settings", "settings"),
            ]
        ),
    ]

    /// The pages of administrators, below `admin`.
    static let administration = [("People", "people"), ("API keys", "keys"), ("Audit log", "audit")]

    /// The pages of operators, about the server itself.
    static let server = [
        ("Tenants", "tenants"), ("Configuration", "settings"), ("Nodes", "nodes"), ("Server log", "logs"),
        ("Database", "database"), ("Versions", "versions"),
    ]
}
