import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Testing

@testable import BelfryService

/// Answers of the admin API for rows that cannot be read.
@Suite struct DamagedRowTests {
    @Test func `an unreadable row is a final 500, yet deletable`()
        async throws
    {
        let server = try await TestAdminServer()
        let resources = try await server.resources("hurt")
        try await server.store.run(
            """
            UPDATE schedule SET content = '[]'; UPDATE geofence SET data = '[]';
            UPDATE location SET radius = 9e999; UPDATE app_user SET attributes = '[]';
            """)
        let application = "apps/\(resources.application.uuid.lowercased)"
        for path in [
            "schedules/\(resources.schedule.key.id)", "geofences/\(resources.geofence.key)",
            "location-groups/\(resources.group.key)", "locations/\(resources.location.key)",
            "users/\(resources.user.id)",
        ] {
            let shown = try await server.send(.get, "\(application)/\(path)")
            #expect(shown.status == 500 && shown.text.contains("cannot be read"), "\(path): \(shown)")
            #expect(try await server.send(.delete, "\(application)/\(path)").status == 204, "\(path)")
        }
        #expect(
            try await server.audited().prefix(5) == [
                "user.erase", "location.delete", "location_group.delete", "geofence.delete", "schedule.cancel",
            ])
    }
}
