import HTTPTypes
import Hummingbird

/// Routes for locations, geofences and analytics.
extension PCFRoutes {
    func addMap(to router: Router<APIContext>) {
        let locations = PCF.Locations(store: store, options: options, places: services.places)
        addLocations(locations, to: router)
        addGroups(locations, to: router)
        let geofences = PCF.Geofences(store: store, clock: clock, options: options, places: services.places)
        addGeofences(geofences, to: router)
        let analytics = PCF.Analytics(store: store, options: options)
        serve(
            "v1/geofences", on: router,
            [.get: asPlatform { request, _, platform, _ in try await geofences.updates(request, on: platform) }])
        serve(
            "v1/analytics", on: router,
            [
                .post: asPlatform(atMost: analytics.bodyBytesMax) { request, _, platform, _ in
                    try await analytics.record(request, on: platform)
                }
            ])
    }

    private func addLocations(_ locations: PCF.Locations, to router: Router<APIContext>) {
        serve(
            "v1/locations", on: router,
            [
                .get: asApplication(using: .searches) { try await locations.list($0, of: $1) },
                .post: asApplication { try await locations.create($0, for: $1) },
            ])
        let with = Keyed<Location>(name: "location_id", noun: "location", routes: self)
        serve(
            "v1/locations/:location_id", on: router,
            [
                .get: with.key { try await locations.show($1, of: $2) },
                .put: with.key { try await locations.update($1, $0, of: $2) },
                .delete: with.key { try await locations.delete($1, of: $2) },
            ])
    }

    private func addGroups(_ locations: PCF.Locations, to router: Router<APIContext>) {
        serve(
            "v1/location_groups", on: router,
            [
                .get: asApplication(using: .searches) { try await locations.listGroups($0, of: $1) },
                .post: asApplication { try await locations.createGroup($0, for: $1) },
            ])
        let with = Keyed<LocationGroup>(name: "location_group_id", noun: "location group", routes: self)
        serve(
            "v1/location_groups/:location_group_id", on: router,
            [
                .get: with.key { try await locations.show($1, of: $2) },
                .put: with.key { try await locations.update($1, $0, of: $2) },
                .delete: with.key { try await locations.delete($1, of: $2) },
            ])
    }

    private func addGeofences(_ geofences: PCF.Geofences, to router: Router<APIContext>) {
        serve(
            "v1/geofence", on: router,
            [
                .get: asApplication(using: .searches) { try await geofences.list($0, of: $1) },
                .post: asApplication { try await geofences.create($0, for: $1) },
            ])
        let with = Keyed<Geofence>(name: "geofence_id", noun: "geofence", routes: self)
        serve(
            "v1/geofence/:geofence_id", on: router,
            [
                .get: with.key { try await geofences.show($1, of: $2) },
                .put: with.key { try await geofences.update($1, $0, of: $2) },
                .delete: with.key { try await geofences.delete($1, of: $2) },
            ])
    }

    /// Handlers of paths that contain the integer key of a `Noun`.
    private struct Keyed<Noun>: Sendable {
        let name: String
        let noun: String
        let routes: PCFRoutes

        /// A key that is not an integer is unknown.
        func key(
            _ handler: @escaping @Sendable (Request, Key<Noun>, Application) async throws -> Response
        ) -> Handler {
            { request, context in
                let application = try await routes.authenticator.application(of: request, context)
                let text = context.parameters.get(name) ?? ""
                guard let key = Int64(text) else {
                    throw APIError(.notFound, "This application has no \(noun) '\(text)'")
                }
                return try await routes.shares.receiving(
                    request, atMost: routes.options.bodyBytesMax, for: ShareHolder(application)
                ) { try await handler($0, Key(key), application) }
            }
        }
    }
}
